// Anthropic's Messages API on 127.0.0.1, for tests: as strict as the real one, says what a script has it say, fails as it is told, and keeps books.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import * as z from "zod";
import { fromJson, readText } from "../body.ts";
import { type HttpFault, halved, playEarly, sendPieces } from "../faults.ts";
import { createCache } from "./cache.ts";
import { type Reply, type SentEvent, streamOf } from "./reply.ts";
import { refusal, withoutMarks } from "./rules.ts";
import { type Body, messagesBody } from "./shape.ts";
import { digest } from "./signature.ts";

export type { Reply, ReplyBlock } from "./reply.ts";
export type { Body } from "./shape.ts";

/** What goes wrong with one request. */
export type Fault =
  | HttpFault
  | {
      readonly status: number;
      readonly type?: string;
      readonly message?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** After so many events. */
  | { readonly errorAfter: number; readonly type?: string; readonly message?: string }
  /** Half an event, then the body's end. */
  | { readonly halfJson: true }
  | { readonly json: unknown };

export interface Call {
  readonly n: number;
  readonly headers: IncomingMessage["headers"];
  readonly raw: string;
  readonly body: Body;
  /** Why the request was refused; null: it was taken. */
  readonly refusal: string | null;
  /** The model was run; with what it cost. */
  billed: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly cache_read_input_tokens: number;
    readonly cache_creation_input_tokens: number;
  } | null;
  /** The whole answer went out. */
  delivered: boolean;
  /** The client hung up before that. */
  hungUp: boolean;
}

export interface WireAnthropicOptions {
  /** The `n`-th request that was taken, from 0. */
  readonly script: (body: Body, n: number) => Reply | Promise<Reply>;
  /** The `n`-th request that arrived, from 0. */
  readonly faults?: (n: number, body: Body) => Fault | null;
  /** Default: any. */
  readonly apiKey?: string;
  /** Tokens of input that are too many; default: none are. */
  readonly window?: number;
}

export interface WireAnthropic {
  /** For ANTHROPIC_BASE_URL. */
  readonly baseURL: string;
  readonly ledger: readonly Call[];
  close(): Promise<void>;
}

const VERSIONS = new Set(["2023-06-01", "2026-10-21"]);
const REQUEST_BYTES_MAX = 32 * 1024 * 1024;

export async function createWireAnthropic(options: WireAnthropicOptions): Promise<WireAnthropic> {
  const ledger: Call[] = [];
  const paused = new Set<string>();
  const cache = createCache();
  let taken = 0;

  const refuse = (
    response: ServerResponse,
    status: number,
    type: string,
    message: string,
    headers: object = {},
  ): void => {
    const body = JSON.stringify({ type: "error", error: { type, message }, request_id: `req_${ledger.length}` });
    response
      .writeHead(status, { "content-type": "application/json", "request-id": `req_${ledger.length}`, ...headers })
      .end(body);
  };

  const answer = async (call: Call, fault: Fault | null, response: ServerResponse): Promise<void> => {
    const streamed = streamOf(call.body, await options.script(call.body, taken++), cache.account(call.body));
    if (streamed.paused !== null) paused.add(digest(withoutMarks(streamed.paused)));
    if (fault === null || !("errorAfter" in fault)) call.billed = streamed.usage;
    else if (fault.errorAfter > 0) call.billed = { ...streamed.usage, output_tokens: 1 }; // it had begun, and said so
    call.delivered = await send(response, streamed.events, fault);
  };

  const server = createServer(async (request, response) => {
    const raw = await readText(request);
    const body = fromJson(raw);
    const n = ledger.length;
    const wrong = checked(request, raw, body, { options, paused });
    const call: Call = {
      n,
      headers: request.headers,
      raw,
      body: body as Body,
      refusal: wrong?.message ?? null,
      billed: null,
      delivered: false,
      hungUp: false,
    };
    ledger.push(call);
    response.on("close", () => {
      call.hungUp = !response.writableFinished;
    });
    const fault = options.faults?.(n, call.body) ?? null;
    if (fault !== null && "fault" in fault && playEarly(fault, response)) return;
    if (fault !== null && "status" in fault && !("fault" in fault))
      refuse(response, fault.status, fault.type ?? "api_error", fault.message ?? "a fault of the test", fault.headers);
    else if (fault !== null && "json" in fault)
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(fault.json));
    else if (wrong !== null) refuse(response, wrong.status, wrong.type, wrong.message);
    else
      await answer(call, fault, response).catch((thrown: unknown) => {
        if (response.headersSent) response.destroy();
        else refuse(response, 500, "api_error", `the script of the test: ${String(thrown)}`);
      });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseURL: `http://127.0.0.1:${port}`,
    ledger,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Wrong {
  readonly status: number;
  readonly type: string;
  readonly message: string;
}

function checked(
  request: IncomingMessage,
  raw: string,
  body: unknown,
  { options, paused }: { readonly options: WireAnthropicOptions; readonly paused: ReadonlySet<string> },
): Wrong | null {
  const invalid = (message: string): Wrong => ({ status: 400, type: "invalid_request_error", message });
  const { headers } = request;
  if (request.method !== "POST" || request.url !== "/v1/messages")
    return { status: 404, type: "not_found_error", message: `Not found: ${request.url}` };
  const key = headers["x-api-key"];
  if (typeof key !== "string" || (options.apiKey !== undefined && key !== options.apiKey))
    return { status: 401, type: "authentication_error", message: "invalid x-api-key" };
  if (!VERSIONS.has(String(headers["anthropic-version"])))
    return invalid(`anthropic-version: "${headers["anthropic-version"]}" is not a valid version`);
  if (headers["content-type"] !== "application/json") return invalid("content-type must be application/json");
  if (Buffer.byteLength(raw) > REQUEST_BYTES_MAX)
    return { status: 413, type: "request_too_large", message: "Request exceeds the maximum size" };
  const parsed = messagesBody.safeParse(body);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return invalid(
      `${issue?.path.join(".")}: ${issue?.code === "unrecognized_keys" ? "Extra inputs are not permitted" : z.prettifyError(parsed.error)}`,
    );
  }
  const found = refusal(parsed.data, { paused });
  if (found !== null) return invalid(found);
  const tokens = Math.ceil(raw.length / 4);
  return options.window !== undefined && tokens > options.window
    ? invalid(`prompt is too long: ${tokens} tokens > ${options.window} maximum`)
    : null;
}

/** True: all of it went out. */
async function send(response: ServerResponse, events: readonly SentEvent[], fault: Fault | null): Promise<boolean> {
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "request-id": "req_stream",
  });
  const sent = events.map(sse);
  if (fault !== null && "errorAfter" in fault) {
    const { errorAfter, type = "overloaded_error", message = "Overloaded" } = fault;
    sent.splice(errorAfter, sent.length, sse({ type: "error", error: { type, message } }));
  } else if (fault !== null && "halfJson" in fault) sent.splice(3, sent.length, `${sent[3]?.slice(0, -12)}\n\n`);
  const whole = await sendPieces(response, halved(sent), fault !== null && "fault" in fault ? fault : null);
  return whole && (fault === null || "fault" in fault);
}

const sse = (event: SentEvent): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
