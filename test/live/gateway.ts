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

/** Requests that are kept back. */
export interface Hold {
  /** How many of them ask something. */
  asking(): number;
  /** They go on to the provider, or are hung up on: it never hears of them. */
  end(how: "pass" | "drop"): void;
}

export interface Gateway {
  /** Instead of the provider's own address. */
  readonly url: string;
  readonly passed: readonly Passed[];
  /** Nothing more is passed on until the hold ends. */
  hold(): Hold;
  /** Resolves when the provider has answered all that was passed on, or can't any more. */
  settled(): Promise<void>;
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
  const underWay = new Set<Promise<void>>();
  let held: { readonly request: IncomingMessage; readonly response: ServerResponse }[] | null = null;

  const begin = (request: IncomingMessage, response: ServerResponse): void => {
    const done = pass(base, request, response, passed)
      .catch(() => void response.destroy()) // the provider's broken connection is the worker's
      .finally(() => underWay.delete(done));
    underWay.add(done);
  };
  const hold = (): Hold => {
    const kept: NonNullable<typeof held> = [];
    held = kept;
    return {
      asking: () => kept.filter(({ request }) => request.method === "POST").length,
      end: (how) => {
        held = null;
        for (const { request, response } of kept)
          if (how === "drop") response.destroy();
          else begin(request, response);
      },
    };
  };

  const server = createServer((request, response) => {
    if (held === null) begin(request, response);
    else held.push({ request, response });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    hold,
    settled: async () => {
      while (underWay.size > 0) await Promise.all(underWay);
    },
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
