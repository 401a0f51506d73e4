// The HTTP API on loopback: only there, and only for those who call it by a loopback name (a page of the web can point a name of its own at 127.0.0.1).
// Or where a server of the user's is to listen: then it answers to every name, as a proxy before it may give it any, and the key is what counts.
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { messageOf, TorenError } from "../shared/core/errors.ts";
import { createApp } from "../shared/http/app.ts";
import type { HttpDeps } from "../shared/http/deps.ts";
import { withEventStreams } from "../shared/http/event-streams.ts";
import { problemOf, problemResponse } from "../shared/http/problems.ts";
import { hasCode } from "./state.ts";

export interface Listening {
  readonly url: string;
  /** Answers what is under way for a moment longer, then cuts it; waiting readers are answered at once. */
  close(): Promise<void>;
}

const LOOPBACK_HOST = "127.0.0.1";
/** Cursors over thousands of tasks are long. */
const HEADERS_MAX_BYTES = 64 * 1024;
const CLOSE_MS = 2_000;

/** `port` 0 takes a free one; `host` undefined: loopback alone. @throws TorenError `server.unreachable` when the port is taken. */
export async function listen(deps: HttpDeps, port: number, host?: string): Promise<Listening> {
  const closing = new AbortController();
  const inner = createApp({ ...deps, closing: closing.signal });
  const app = withEventStreams(inner, { live: deps.live, closing: closing.signal });
  const fetch = (request: Request): Response | Promise<Response> =>
    host !== undefined || isLoopback(request.headers.get("host"))
      ? app.fetch(request)
      : notHere(request.headers.get("host"));
  const hostname = host ?? LOOPBACK_HOST;
  const server = createAdaptorServer({ fetch, hostname, serverOptions: { maxHeaderSize: HEADERS_MAX_BYTES } });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (e) => reject(taken(port, e)));
    server.listen(port, hostname, () => resolve());
  });
  return {
    url: `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${(server.address() as AddressInfo).port}`,
    close: async () => {
      closing.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      if ("closeIdleConnections" in server) server.closeIdleConnections();
      const cut = setTimeout(() => "closeAllConnections" in server && server.closeAllConnections(), CLOSE_MS);
      await closed;
      clearTimeout(cut);
    },
  };
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

const isLoopback = (host: string | null): boolean => host !== null && LOOPBACK.test(host);

const notHere = (host: string | null): Response =>
  problemResponse(
    problemOf({
      code: "request.invalid",
      message: `This server is for its own machine; it doesn't answer to the name "${host ?? ""}".`,
    }),
  );

const taken = (port: number, e: Error): TorenError =>
  hasCode(e, "EADDRINUSE")
    ? new TorenError(
        "server.unreachable",
        `Port ${port} is taken by another program. Choose one with --port; 0 takes a free one.`,
      )
    : new TorenError("server.unreachable", `The server can't listen on port ${port}: ${messageOf(e)}.`);
