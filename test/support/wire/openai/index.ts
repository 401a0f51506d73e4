// OpenAI's API on 127.0.0.1, for tests: /v1/responses and /v1/chat/completions, as strict as the real ones. It says what a script has it say, fails as it is
// told, keeps background answers, and keeps books.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import * as z from "zod";
import { fromJson, readText } from "../body.ts";
import { type HttpFault, halved, playEarly, sendPieces } from "../faults.ts";
import { createMemory, type Memory } from "./memory.ts";
import { errorBody, invalid, type Refusal } from "./refusal.ts";
import { type Cache, createCache } from "./reply.ts";
import { chatRefusal } from "./rules-chat.ts";
import { responsesRefusal } from "./rules-responses.ts";
import { sayCompletion } from "./say-chat.ts";
import { type Said, sayResponse } from "./say-responses.ts";
import { type ChatBody, chatBody } from "./shape-chat.ts";
import { type ResponsesBody, responsesBody } from "./shape-responses.ts";
import { traitsOf } from "./traits.ts";
import type { Asked, Call, Fault, WireOpenAi, WireOpenAiOptions } from "./types.ts";

export type { Reply, ReplyItem } from "./reply.ts";
export type { ChatBody } from "./shape-chat.ts";
export type { InputItem, ResponsesBody } from "./shape-responses.ts";
export type { Asked, Call, Fault, WireOpenAi, WireOpenAiOptions } from "./types.ts";

interface Server {
  readonly options: WireOpenAiOptions;
  readonly memory: Memory;
  readonly cache: Cache;
  readonly ledger: Call[];
  readonly looks: string[];
  readonly kept: Map<string, { readonly said: Said; left: number }>;
  taken: number;
}

export async function createWireOpenAi(options: WireOpenAiOptions): Promise<WireOpenAi> {
  const state: Server = {
    options,
    memory: createMemory(),
    cache: createCache(),
    ledger: [],
    looks: [],
    kept: new Map(),
    taken: 0,
  };
  const server = createServer(async (request, response) => {
    const raw = await readText(request);
    const look = /^\/v1\/responses\/([^/?]+)$/.exec(request.url ?? "")?.[1];
    if (request.method === "GET" && look !== undefined) await looked(state, look, request, response);
    else await asked(state, raw, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    ledger: state.ledger,
    looks: state.looks,
    expire: () => state.kept.clear(),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function looked(state: Server, id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const fault = state.options.lookFaults?.(state.looks.length) ?? null;
  state.looks.push(id);
  if (fault !== null && playedEarly(fault, response)) return;
  const denied = unauthorized(request, state.options);
  const kept = state.kept.get(id);
  if (denied !== null) refuse(response, denied);
  else if (kept === undefined) refuse(response, { ...invalid(`Response with id '${id}' not found.`), status: 404 });
  else {
    const body = kept.left-- > 0 ? { ...kept.said.open, status: "in_progress" } : kept.said.response;
    await whole(response, body, fault, { "openai-poll-after-ms": "5" });
  }
}

async function asked(state: Server, raw: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { options, ledger } = state;
  const path = request.url ?? "";
  const read = checked(request, raw, state);
  const n = ledger.length;
  const refused = "refusal" in read ? read.refusal : null;
  const call: Call = {
    n,
    path,
    headers: request.headers,
    raw,
    body: fromJson(raw) as Call["body"],
    refusal: refused?.message ?? null,
    billed: null,
    delivered: false,
  };
  ledger.push(call);
  const fault = options.faults?.(n, path) ?? null;
  if (fault !== null && playedEarly(fault, response)) return;
  if ("refusal" in read) refuse(response, read.refusal);
  else if (read.api === "responses") await answerResponses(state, call, read.body, fault, response);
  else await answerChat(state, call, read.body, fault, response);
}

async function answerResponses(
  state: Server,
  call: Call,
  body: ResponsesBody,
  fault: Fault | null,
  response: ServerResponse,
): Promise<void> {
  const reply = await state.options.script({ api: "responses", body }, state.taken++);
  const prompt = state.cache.account(promptOf(body.instructions, body.tools, body.input), traitsOf(body.model).phases);
  const said = sayResponse(body, reply, prompt, state.memory);
  if (body.background) state.kept.set(said.id, { said, left: state.options.looks ?? 1 });
  if (fault === null || !("errorAfter" in fault)) call.billed = said.spent;
  if (body.stream) {
    const events = said.events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    call.delivered = await stream(response, events, fault);
  } else call.delivered = await whole(response, body.background ? said.open : said.response, fault);
}

async function answerChat(
  state: Server,
  call: Call,
  body: ChatBody,
  fault: Fault | null,
  response: ServerResponse,
): Promise<void> {
  const reply = await state.options.script({ api: "chat", body }, state.taken++);
  const prompt = state.cache.account(promptOf(body.tools, body.messages), traitsOf(body.model).phases);
  const said = sayCompletion(body, reply, prompt, state.options.showsReasoning ?? false);
  if (fault === null || !("errorAfter" in fault)) call.billed = said.spent;
  if (body.stream) {
    const chunks = said.chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
    call.delivered = await stream(response, [...chunks, "data: [DONE]\n\n"], fault);
  } else call.delivered = await whole(response, said.completion, fault);
}

const promptOf = (...parts: readonly unknown[]): string => JSON.stringify(parts);

async function stream(response: ServerResponse, events: readonly string[], fault: Fault | null): Promise<boolean> {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "x-request-id": "req_stream" });
  if (fault !== null && "errorAfter" in fault) {
    const { code = "server_error", message = "The server had an error while processing your request." } = fault;
    const error = `event: error\ndata: ${JSON.stringify({ type: "error", code, message, param: null })}\n\n`;
    await sendPieces(response, [...events.slice(0, fault.errorAfter), error], null);
    return false;
  }
  return sendPieces(response, halved(events), fault as HttpFault | null);
}

/** In two pieces, so that it can break off. */
async function whole(response: ServerResponse, body: object, fault: Fault | null, headers = {}): Promise<boolean> {
  const text = JSON.stringify(body);
  response.writeHead(200, { "content-type": "application/json", "x-request-id": "req_whole", ...headers });
  const half = Math.floor(text.length / 2);
  const http = fault !== null && "fault" in fault ? fault : null;
  return sendPieces(response, [text.slice(0, half), text.slice(half)], http);
}

function playedEarly(fault: Fault, response: ServerResponse): boolean {
  if ("fault" in fault) return playEarly(fault, response);
  if (!("status" in fault)) return false;
  const { status, code = null, type = "server_error", message = "a fault of the test", body, headers = {} } = fault;
  const error = body ?? errorBody({ message, type, code, param: null });
  response.writeHead(status, { "content-type": "application/json", "x-request-id": "req_fault", ...headers });
  response.end(typeof error === "string" ? error : JSON.stringify(error));
  return true;
}

type Read = Asked | { readonly refusal: Refusal };

function checked(request: IncomingMessage, raw: string, { options, memory }: Server): Read {
  const denied = unauthorized(request, options);
  if (denied !== null) return { refusal: denied };
  const shapes = { "/v1/responses": responsesBody, "/v1/chat/completions": chatBody } as const;
  const shape = request.method === "POST" ? shapes[request.url as keyof typeof shapes] : undefined;
  if (shape === undefined)
    return { refusal: { ...invalid(`Invalid URL (${request.method} ${request.url})`), status: 404 } };
  if (request.headers["content-type"] !== "application/json") return { refusal: invalid("Unsupported content type.") };
  const parsed = shape.safeParse(fromJson(raw));
  if (!parsed.success) return { refusal: invalid(z.prettifyError(parsed.error), pathOf(parsed.error)) };
  const api = request.url === "/v1/responses" ? "responses" : "chat";
  const asked = { api, body: parsed.data } as Asked;
  const found = asked.api === "responses" ? responsesRefusal(asked.body, memory) : chatRefusal(asked.body);
  const refusal = found ?? accountProblem(asked, raw, options);
  return refusal === null ? asked : { refusal };
}

const pathOf = (error: z.ZodError): string =>
  (error.issues[0]?.path ?? [])
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("")
    .slice(1);

function unauthorized({ headers }: IncomingMessage, { apiKey }: WireOpenAiOptions): Refusal | null {
  const key = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
  if (key !== undefined && (apiKey === undefined || key === apiKey)) return null;
  return {
    status: 401,
    message: `Incorrect API key provided: ${key ?? "none"}.`,
    type: "invalid_request_error",
    code: "invalid_api_key",
    param: null,
  };
}

function accountProblem({ body }: Asked, raw: string, options: WireOpenAiOptions): Refusal | null {
  if (body.stream && options.verified === false && traitsOf(body.model).reasons)
    return invalid("Your organization must be verified to stream this model.", "stream", "unsupported_value");
  if ("stream_options" in body && options.knowsStreamOptions === false)
    return invalid("Unknown parameter: 'stream_options'.", "stream_options", "unknown_parameter");
  const tokens = Math.ceil(raw.length / 4);
  return options.window !== undefined && tokens > options.window
    ? invalid(
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "input",
        "context_length_exceeded",
      )
    : null;
}

function refuse(response: ServerResponse, refusal: Refusal): void {
  response.writeHead(refusal.status, { "content-type": "application/json", "x-request-id": "req_refused" });
  response.end(JSON.stringify(errorBody(refusal)));
}
