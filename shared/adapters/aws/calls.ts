// How long AWS may take to answer. Its SDK waits for ever, and a function whose way out is gone would stand still until it is cut off, with its leases and its
// connections. Three tries of a call, as the SDK makes them, fit into the API's 29 s.
import { AWS_CALL_MS, AWS_CONNECT_MS, AWS_OBJECT_MS } from "../../core/limits.ts";

const bounded = (requestTimeout: number) => ({
  requestHandler: { connectionTimeout: AWS_CONNECT_MS, requestTimeout, throwOnRequestTimeout: true },
});

/** A client's settings: of calls that carry ids and little else. */
export const CALLS = bounded(AWS_CALL_MS);
/** Of calls that carry a file. */
export const OBJECT_CALLS = bounded(AWS_OBJECT_MS);
