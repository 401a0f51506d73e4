// Bedrock's Converse API on 127.0.0.1, for tests: real HTTP, the real event stream, as strict as the public documentation says (shape.ts, rules.ts), with
// answers by a script, faults on order, and a ledger of what would be billed. Signatures of requests are looked for, not verified.
//
//   const bedrock = await createWireBedrock({ script: brain });            // brain.ts: the rules of local/model-server
//   process.env.AWS_ENDPOINT_URL_BEDROCK_RUNTIME = bedrock.url;            // or createBedrock({ endpoint: bedrock.url, … })
//   bedrock.ledger.filter(({ billed }) => billed).length
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { fromJson, readText } from "../body.ts";
import { type HttpFault, playEarly, sendPieces } from "../faults.ts";
import { type Answer, streamMessages, type TokenUsage, wholeBody } from "./answer.ts";
import type { Asked } from "./asked.ts";
import { errorMessage, exceptionMessage } from "./event-stream.ts";
import { refusal } from "./rules.ts";
import { type ConverseBody, converseBody } from "./shape.ts";
import { prefixOf } from "./signature.ts";
import { createUsage } from "./usage.ts";

/** One request that was taken. `n` counts from 0 those that got so far. */
export interface Question extends Asked {
  readonly n: number;
}
export type Script = (question: Question) => Answer | string | Promise<Answer | string>;

export type Fault =
  | HttpFault
  /** An exception of the API, before anything else. */
  | {
      readonly fault: "exception";
      readonly status: number;
      readonly name: string;
      readonly message: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** An exception in the stream, behind some of its events; `name` as in the stream, such as `throttlingException`. */
  | { readonly fault: "midStream"; readonly name: string; readonly message: string; readonly after: number }
  /** An error in the stream that the API doesn't name. */
  | { readonly fault: "streamError"; readonly code: string; readonly message: string; readonly after: number }
  /** A message whose checksum is wrong. */
  | { readonly fault: "corrupt"; readonly after: number };

export interface LedgerEntry {
  readonly n: number;
  readonly modelId: string;
  readonly stream: boolean;
  /** The body, as it came. */
  readonly body: unknown;
  readonly headers: IncomingMessage["headers"];
  /** Of the answer; null: none was sent. */
  status: number | null;
  /** Why it was refused. */
  refused: string | null;
  /** The model was run, whether or not its answer arrived. */
  billed: boolean;
  /** The whole answer went out to a client that was there. */
  answered: boolean;
  usage: TokenUsage | null;
}

export interface WireBedrockOptions {
  /** "Hello." by default. */
  readonly script?: Script;
  /** What goes wrong with the nth request, counted from 0; null: nothing. */
  readonly faults?: (n: number, asked: Asked) => Fault | null;
  /** Which model stands behind an ARN that doesn't say. */
  readonly profiles?: Readonly<Record<string, string>>;
  /** How long the model takes. */
  readonly latencyMs?: number;
}

export interface WireBedrock {
  /** What `AWS_ENDPOINT_URL_BEDROCK_RUNTIME` is set to. */
  readonly url: string;
  /** Every request, in the order of arrival. */
  readonly ledger: readonly LedgerEntry[];
  /** Requests whose client went away before the answer's end. */
  abandoned(): number;
  script: Script;
  faults: (n: number, asked: Asked) => Fault | null;
  close(): Promise<void>;
}

export async function createWireBedrock(options: WireBedrockOptions = {}): Promise<WireBedrock> {
  const { latencyMs = 0, profiles = {} } = options;
  const ledger: LedgerEntry[] = [];
  const count = createUsage();
  let abandoned = 0;
  let calls = 0;
  const ids = (given: string | undefined): string => given ?? `tooluse_${String(++calls).padStart(8, "0")}`;

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readText(request);
    response.once("close", () => {
      if (!response.writableFinished) abandoned++;
    });
    const taken = take(request, body, profiles);
    const entry: LedgerEntry = {
      ...taken.asked,
      n: ledger.length,
      headers: request.headers,
      status: null,
      refused: null,
      billed: false,
      answered: false,
      usage: null,
    };
    ledger.push(entry);
    const fault = playable(served.faults(entry.n, taken.asked), taken.asked);
    if (fault !== null && "status" in fault && fault.fault === "exception") return refuse(response, entry, fault);
    if (fault !== null && isHttp(fault) && playEarly(fault, response)) return;
    if ("problem" in taken) return refuse(response, entry, taken.problem);
    await answer(taken.asked, entry, fault, response);
  };

  const answer = async (
    asked: Asked,
    entry: LedgerEntry,
    fault: Fault | null,
    response: ServerResponse,
  ): Promise<void> => {
    entry.billed = true;
    const given = await served.script({ ...asked, n: entry.n });
    const answer: Answer = typeof given === "string" ? { content: [{ text: given }] } : given;
    const usage = answer.usage ?? count(asked, answer);
    entry.usage = usage;
    entry.status = 200;
    await sleep(latencyMs);
    response.writeHead(200, {
      "content-type": asked.stream ? "application/vnd.amazon.eventstream" : "application/json",
      "x-amzn-requestid": `r-${entry.n}`,
    });
    const model = profiles[asked.modelId] ?? asked.modelId;
    const by = { modelId: model, prefix: prefixOf(model, asked.body) };
    const pieces = asked.stream
      ? faulty(streamMessages(answer, by, usage, ids), fault)
      : halves(JSON.stringify(wholeBody(answer, by, usage, ids)));
    const whole = await sendPieces(response, pieces, fault !== null && isHttp(fault) ? fault : null);
    entry.answered = whole && (fault === null || isHttp(fault));
  };

  const server = createServer((request, response) => {
    serve(request, response).catch((thrown: unknown) => {
      if (!response.headersSent) response.writeHead(500, { "content-type": "application/json" });
      response.end(JSON.stringify({ message: `the test's own server failed: ${String(thrown)}` }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const served: WireBedrock = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ledger,
    abandoned: () => abandoned,
    script: options.script ?? (() => "Hello."),
    faults: options.faults ?? (() => null),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return served;
}

interface Problem {
  readonly status: number;
  readonly name: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}
type Taken =
  | { readonly asked: Asked }
  | {
      readonly asked: { readonly modelId: string; readonly stream: boolean; readonly body: ConverseBody };
      readonly problem: Problem;
    };

function take(request: IncomingMessage, raw: string, profiles: Readonly<Record<string, string>>): Taken {
  const [, id = "", operation = ""] = /^\/model\/([^/]+)\/(converse|converse-stream)$/.exec(request.url ?? "") ?? [];
  const body = fromJson(raw);
  const asked = {
    modelId: decodeURIComponent(id),
    stream: operation === "converse-stream",
    body: body as ConverseBody,
  };
  const problem = (status: number, name: string, message: string): Taken => ({
    asked,
    problem: { status, name, message },
  });
  if (id === "" || request.method !== "POST")
    return problem(404, "UnknownOperationException", `${request.method} ${request.url}`);
  const unsigned = signatureProblem(request);
  if (unsigned !== null) return problem(403, "MissingAuthenticationTokenException", unsigned);
  if (!/^[a-zA-Z0-9_.:/-]{1,2048}$/.test(asked.modelId))
    return problem(400, "ValidationException", "The provided model identifier is invalid.");
  if (body === undefined) return problem(400, "SerializationException", "The body is no JSON.");
  const parsed = converseBody.safeParse(body);
  if (!parsed.success) return problem(400, "ValidationException", z.prettifyError(parsed.error));
  const refused = refusal({ ...asked, modelId: profiles[asked.modelId] ?? asked.modelId, body: parsed.data });
  return refused === null ? { asked: { ...asked, body: parsed.data } } : problem(400, "ValidationException", refused);
}

/** SigV4's headers, or a bearer token. */
function signatureProblem({ headers }: IncomingMessage): string | null {
  const { authorization = "" } = headers;
  if (/^Bearer \S+$/.test(authorization)) return null;
  const signed =
    /^AWS4-HMAC-SHA256 Credential=[^/]+\/\d{8}\/[a-z0-9-]+\/bedrock\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=[0-9a-f]{64}$/.exec(
      authorization,
    );
  if (signed === null) return "Missing Authentication Token";
  const names = (signed[1] ?? "").split(";");
  const wanted = ["host", "x-amz-date", "content-type"].filter(
    (name) => !names.includes(name) || headers[name] === undefined,
  );
  return wanted.length === 0 ? null : `not signed: ${wanted.join(", ")}`;
}

function refuse(response: ServerResponse, entry: LedgerEntry, { status, name, message, headers = {} }: Problem): void {
  entry.status = status;
  entry.refused = message;
  response.writeHead(status, {
    "content-type": "application/json",
    "x-amzn-errortype": `${name}:http://internal.amazon.com/coral/com.amazon.bedrock/`,
    ...headers,
  });
  response.end(JSON.stringify({ message }));
}

function* faulty(messages: Generator<Buffer>, fault: Fault | null): Generator<Buffer> {
  const within = fault !== null && !isHttp(fault) && "after" in fault ? fault : null;
  let sent = 0;
  for (const message of messages) {
    if (within !== null && sent++ >= within.after) {
      if (within.fault === "midStream") yield exceptionMessage(within.name, { message: within.message });
      else if (within.fault === "streamError") yield errorMessage(within.code, within.message);
      else yield Buffer.concat([message.subarray(0, -1), Buffer.from([(message.at(-1) ?? 0) ^ 0xff])]);
      return;
    }
    yield message;
  }
}

const halves = (text: string): string[] => [text.slice(0, text.length / 2), text.slice(text.length / 2)];

/** A whole answer has no events. */
const playable = (fault: Fault | null, { stream }: Asked): Fault | null =>
  fault !== null && !stream && ["midStream", "streamError", "corrupt"].includes(fault.fault) ? null : fault;

const isHttp = (fault: Fault): fault is HttpFault =>
  ["hang", "reset", "html", "empty", "cut", "ends", "stalls", "slow"].includes(fault.fault);
