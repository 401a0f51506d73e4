// A strict server of chat completions on 127.0.0.1, made from the public API's shapes: it refuses what that API refuses, counts every request, and
// answers what a test tells it to.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import * as z from "zod";

const text = z
  .string()
  .min(1)
  .refine((value) => value.isWellFormed(), "a lone surrogate");
const name = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
const call = z.strictObject({
  id: z.string().min(1),
  type: z.literal("function"),
  function: z.strictObject({ name, arguments: z.string().refine(isObject, "arguments are no JSON object") }),
});
const message = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("system"), content: text }),
  z.strictObject({ role: z.literal("user"), content: text }),
  z.strictObject({ role: z.literal("tool"), tool_call_id: z.string().min(1), content: text }),
  z
    .strictObject({
      role: z.literal("assistant"),
      content: text.nullable(),
      tool_calls: z.array(call).min(1).optional(),
    })
    .refine((m) => m.content !== null || m.tool_calls !== undefined, "an assistant message says nothing"),
]);
const body = z.strictObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  max_tokens: z.int().positive().optional(),
  max_completion_tokens: z.int().positive().optional(),
  tools: z
    .array(
      z.strictObject({
        type: z.literal("function"),
        function: z.strictObject({
          name,
          description: z.string(),
          parameters: z.looseObject({ type: z.literal("object") }),
        }),
      }),
    )
    .min(1)
    .optional(),
  response_format: z
    .strictObject({
      type: z.literal("json_schema"),
      json_schema: z.strictObject({ name, schema: z.looseObject({}) }),
    })
    .optional(),
  temperature: z.number().min(0).max(2).optional(),
  seed: z.int().optional(),
  stream: z.literal(false).optional(),
});
export type Body = z.infer<typeof body>;

function isObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** As the real one: every tool call is answered by tool messages right after it, and no tool message stands elsewhere. */
function unpaired(messages: Body["messages"]): string | null {
  let open = new Set<string>();
  for (const one of messages) {
    if (one.role === "tool") {
      if (!open.delete(one.tool_call_id)) return `tool message for ${one.tool_call_id} answers no call`;
      continue;
    }
    if (open.size > 0) return `calls without a result: ${[...open]}`;
    open = new Set(one.role === "assistant" ? one.tool_calls?.map((c) => c.id) : []);
  }
  return open.size > 0 ? `calls without a result: ${[...open]}` : null;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, text as it is. */
  readonly body?: unknown;
  /** `never`: nothing is sent; `half`: the body breaks off in the middle; `reset`: the connection is dropped. */
  readonly fault?: "never" | "half" | "reset";
}

export interface Seen {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly raw: string;
  readonly body: Body;
}

export interface ChatServer {
  readonly baseURL: string;
  readonly requests: Seen[];
  /** What the client did with its connections: closed before an answer. */
  readonly aborted: () => number;
  reply: Reply;
  close(): Promise<void>;
}

export const completion = (choice: object = {}, rest: object = {}): object => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1_700_000_000,
  model: "served-model-2026",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "Hello.", refusal: null },
      logprobs: null,
      finish_reason: "stop",
      ...choice,
    },
  ],
  usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
  ...rest,
});

const problem = (status: number, message: string): Reply => ({
  status,
  body: { error: { message, type: "invalid_request_error", param: null, code: null } },
});

export async function chatServer(): Promise<ChatServer> {
  const requests: Seen[] = [];
  let aborted = 0;
  const server = createServer(async (request, response) => {
    const raw = await read(request);
    response.on("close", () => {
      if (!response.writableFinished) aborted++;
    });
    const parsed = body.safeParse(JSON.parse(raw));
    requests.push({ path: request.url ?? "", headers: request.headers, raw, body: JSON.parse(raw) });
    const wrong = parsed.success ? unpaired(parsed.data.messages) : z.prettifyError(parsed.error);
    send(response, wrong === null ? served.reply : problem(400, wrong));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const served: ChatServer = {
    baseURL: `http://127.0.0.1:${port}/v1`,
    requests,
    aborted: () => aborted,
    reply: { body: completion() },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return served;
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function send(response: ServerResponse, { status = 200, headers = {}, body: what = "", fault }: Reply): void {
  if (fault === "never") return;
  if (fault === "reset") {
    response.destroy();
    return;
  }
  const payload = typeof what === "string" ? what : JSON.stringify(what);
  response.writeHead(status, { "content-type": "application/json", ...headers });
  if (fault === "half") response.write(payload.slice(0, payload.length / 2), () => response.destroy());
  else response.end(payload);
}
