/**
 * The model server: OpenAI's chat-completions wire on the loopback interface, answered by fixed rules (respond.ts). It
 * is not a language model and says so in /v1/models, in every answer's `system_fingerprint` and in its start line. Any
 * API key is accepted and ignored.
 *
 *   POST /v1/chat/completions   whole, or as server-sent events with `stream: true`
 *   GET  /v1/models
 *   GET  /ledger                every completion request since the ledger began, as a JSON list of LedgerEntry
 */
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type HttpBindings, type ServerType, serve } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { streamSSE } from "hono/streaming";
import { type ApiError, apiError, type ChatRequest, readRequest } from "./chat.ts";
import { isObject, parseJson, sha256 } from "./json.ts";
import { type Ledger, openLedger } from "./ledger.ts";
import { MAX_LATENCY_MS, MAX_REQUEST_BYTES } from "./limits.ts";
import { type Answer, requestDigest, respond } from "./respond.ts";
import { chunks, completion, type Envelope, modelList } from "./wire.ts";

export interface ModelServerOptions {
  /** 0 takes a free one. */
  readonly port: number;
  /** Default: the loopback interface. */
  readonly host?: string;
  /** JSON lines that keep the ledger over a restart; without it the ledger is as old as the server. */
  readonly ledgerFile?: string;
  /** An answer takes between these two, always the same for the same request. */
  readonly minLatencyMs: number;
  readonly maxLatencyMs: number;
}

export interface ModelServer {
  /** What `OPENAI_BASE_URL` is set to; ends in `/v1`. */
  readonly url: string;
  readonly port: number;
  /** Cuts what is under way; those requests stay unanswered in the ledger. */
  close(): Promise<void>;
}

const LOOPBACK = "127.0.0.1";

type Env = { Bindings: HttpBindings };

export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  if (!(options.minLatencyMs >= 0 && options.minLatencyMs <= options.maxLatencyMs)) {
    throw new RangeError(`latency from ${options.minLatencyMs} to ${options.maxLatencyMs} ms is no range`);
  }
  if (options.maxLatencyMs > MAX_LATENCY_MS) throw new RangeError(`latency is at most ${MAX_LATENCY_MS} ms`);
  const ledger = openLedger(() => new Date(), options.ledgerFile);
  const app = modelApp(ledger, options);
  const server = await listen(app, options.port, options.host ?? LOOPBACK);
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, port, close: () => closeServer(server) };
}

function modelApp(ledger: Ledger, options: ModelServerOptions): Hono<Env> {
  const app = new Hono<Env>();
  const startedAtS = Math.floor(Date.now() / 1000);
  const tooLarge = apiError(413, `The body is larger than ${MAX_REQUEST_BYTES} bytes`);
  const limit = bodyLimit({ maxSize: MAX_REQUEST_BYTES, onError: (c) => refuse(c, tooLarge) });
  app.post("/v1/chat/completions", limit, (c) => complete(c, ledger, options));
  app.get("/v1/models", (c) => c.json(modelList(startedAtS)));
  app.get("/ledger", (c) => c.json(ledger.entries()));
  app.notFound((c) => refuse(c, apiError(404, `There is no ${c.req.method} ${c.req.path}`, null, "unknown_url")));
  return app;
}

async function complete(c: Context<Env>, ledger: Ledger, options: ModelServerOptions): Promise<Response> {
  const raw = await c.req.text();
  const body = parseJson(raw);
  const digest = body === undefined ? sha256(raw) : requestDigest(body);
  const model = isObject(body) && typeof body.model === "string" ? body.model : null;
  const n = ledger.arrive({ requestDigest: digest, model });
  const gone = followOutgoing(c, (answered) => ledger.finish(n, answered));

  const read = body === undefined ? badJson() : readRequest(body);
  if (!read.ok) {
    ledger.decide(n, read.failure.status, null);
    return refuse(c, read.failure);
  }
  const answer = respond(read.request);
  const envelope = { id: `chatcmpl-${digest.slice(0, 29)}`, model: read.request.model, createdAtS: nowS() };
  const { minLatencyMs, maxLatencyMs } = options;
  const latencyMs = minLatencyMs + (Number.parseInt(digest.slice(0, 8), 16) % (maxLatencyMs - minLatencyMs + 1));
  ledger.decide(n, 200, answer.usage);
  if (read.request.stream === true) return streamed(c, read.request, answer, envelope, latencyMs, gone);
  await pause(latencyMs, gone);
  return c.json(completion(answer, envelope));
}

/** Half of the time passes before the first chunk, the rest between the chunks. */
function streamed(
  c: Context<Env>,
  request: ChatRequest,
  answer: Answer,
  envelope: Envelope,
  latencyMs: number,
  gone: AbortSignal,
): Response {
  const parts = chunks(answer, envelope, request.stream_options?.include_usage === true);
  return streamSSE(c, async (stream) => {
    await pause(latencyMs / 2, gone);
    for (const part of parts) {
      if (gone.aborted) return;
      await stream.writeSSE({ data: JSON.stringify(part) });
      await pause(latencyMs / 2 / parts.length, gone);
    }
    await stream.writeSSE({ data: "[DONE]" });
  });
}

/** Reports once whether the response went out whole, and gives a signal that aborts when the client is gone. */
function followOutgoing(c: Context<Env>, done: (answered: boolean) => void): AbortSignal {
  const { outgoing } = c.env;
  const gone = new AbortController();
  outgoing.once("finish", () => done(true));
  outgoing.once("close", () => {
    done(outgoing.writableFinished);
    if (!outgoing.writableFinished) gone.abort();
  });
  return gone.signal;
}

async function pause(ms: number, gone: AbortSignal): Promise<void> {
  // The answer to a client that hung up goes nowhere; there is nothing to report.
  await sleep(ms, undefined, { signal: gone }).catch(() => undefined);
}

function badJson(): { readonly ok: false; readonly failure: ApiError } {
  return { ok: false, failure: apiError(400, "The body is not valid JSON") };
}

function refuse(c: Context, { status, error }: ApiError): Response {
  return c.json({ error }, status);
}

function nowS(): number {
  return Math.floor(Date.now() / 1000);
}

function listen(app: Hono<Env>, port: number, hostname: string): Promise<ServerType> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: app.fetch, port, hostname }, () => resolve(server));
    server.once("error", reject);
  });
}

function closeServer(server: ServerType): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    if ("closeAllConnections" in server) server.closeAllConnections();
  });
}
