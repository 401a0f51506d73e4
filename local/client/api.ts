// The CLI's client: `toren/client`, whose errors are the command line's.

import { type Client, clientOver } from "../../shared/client/client.ts";
import { ApiError, createTransport, type Transport } from "../../shared/client/transport.ts";
import { ERRORS, TorenError } from "../../shared/core/errors.ts";

export type {
  CallDecision,
  CutDecision,
  DeadLettersPage as DeadLettersPageJson,
  FilesPage as FilesPageJson,
  Fork,
  NewMessage,
  NewRun,
  Retry,
} from "../../shared/client/client.ts";
export type { AgentJson } from "../../shared/http/agents.ts";

/** Every method rejects with a TorenError: what the server said, or `server.unreachable`. */
export type Api = Client;

export function createApi(url: string, key: string): Api {
  const transport = createTransport({ url, key });
  const throwing =
    <A extends unknown[], T>(send: (...args: A) => Promise<T>) =>
    (...args: A): Promise<T> =>
      send(...args).catch((e) => {
        throw asTorenError(e);
      });
  return clientOver({
    url: transport.url,
    ask: throwing(transport.ask) as Transport["ask"],
    text: throwing(transport.text),
    open: throwing(transport.open),
  });
}

/** A code of a later version isn't one that we know: then what it said is all there is. */
function asTorenError(thrown: unknown): unknown {
  if (!(thrown instanceof ApiError)) return thrown;
  const { code, message, status, cause } = thrown;
  if (code in ERRORS) return new TorenError(code, message, cause === undefined ? {} : { cause });
  return new TorenError("server.unreachable", `The server answered ${status}: ${message}`);
}

export const isHealthy = (url: string): Promise<boolean> => createApi(url, "").healthy();
