// Stands between workers and a provider, and counts what the provider is asked: the books that a bill would show. It passes everything on as it is.
import { createHash } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";

export interface Passed {
  readonly method: string;
  readonly path: string;
  /** Of method, path and body: equal ones ask the same. */
  readonly question: string;
  /** What the provider said; null: nothing yet, or it couldn't be reached. */
  status: number | null;
}

export interface Gateway {
  /** Instead of the provider's own address. */
  readonly url: string;
  readonly passed: readonly Passed[];
  close(): Promise<void>;
}

/** Of one connection, not of what is said. */
const OF_HOP = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "accept-encoding",
  "content-encoding",
]);

export async function createGateway(upstream: string): Promise<Gateway> {
  const passed: Passed[] = [];
  const base = upstream.replace(/\/+$/, "");
  const server = createServer((request, response) => {
    pass(base, request, response, passed).catch(() => response.destroy()); // the provider's broken connection is the worker's
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function pass(base: string, request: IncomingMessage, response: ServerResponse, passed: Passed[]): Promise<void> {
  const { method = "GET", url = "/" } = request;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const question = createHash("sha256").update(`${method} ${url}\n`).update(body).digest("hex");
  const entry: Passed = { method, path: url, question, status: null };
  passed.push(entry);
  // Not ended when the worker dies: what the provider has begun it may bill, and its answer says whether it took the question.
  const answer = await fetch(`${base}${url}`, {
    method,
    headers: withoutHop(request.headers),
    ...(body.length === 0 ? {} : { body }),
  });
  entry.status = answer.status;
  response.writeHead(answer.status, withoutHop(Object.fromEntries(answer.headers)));
  if (answer.body === null) response.end();
  else await pipeline(answer.body, response);
}

const withoutHop = (headers: IncomingHttpHeaders | Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (OF_HOP.has(name) ? [] : [[name, String(value)]])),
  );
