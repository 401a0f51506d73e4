// The SDK, told to keep to itself: no retries, no telemetry, nothing from the environment.
import Anthropic from "@anthropic-ai/sdk";

/** What every server of this API takes; later versions only take things away. */
const API_VERSION = "2023-06-01";

/**
 * Nothing comes from the process' environment: all that the SDK would read there is said, but for ANTHROPIC_CUSTOM_HEADERS, which it can't be told to
 * leave alone. So the headers that go out are made here.
 */
export function createClient(apiKey: string, baseURL: string | undefined, timeoutMs: number): Anthropic {
  const headers = {
    accept: "text/event-stream",
    "content-type": "application/json",
    "anthropic-version": API_VERSION,
    ...(apiKey === "" ? {} : { "x-api-key": apiKey }), // a gateway may hold the key
    "user-agent": "toren",
  };
  return new Anthropic({
    apiKey: apiKey || "none", // an empty one has it look for others
    baseURL: baseURL || null,
    webhookKey: null,
    maxRetries: 0,
    timeout: timeoutMs,
    openTelemetry: false,
    logLevel: "off",
    fetch: (url, init) => fetch(url, { ...init, headers }),
  });
}
