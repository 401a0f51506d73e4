import * as z from "zod";
import type { Json, JsonObject } from "./json.ts";
import { MAX_TOOLS_COUNT } from "./limits.ts";

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const json = z.custom<Json>((value) => value !== undefined);
const jsonObject = z.custom<JsonObject>((v) => typeof v === "object" && v !== null && !Array.isArray(v), "an object");

const textPart = z.object({ type: z.literal("text"), text: z.string().min(1, "a text part is empty") });
const otherPart = z.looseObject({ type: z.enum(["image_url", "input_audio", "file", "refusal"]) });
const content = z.union([
  z.string().min(1, "content is empty"),
  z.array(z.union([textPart, otherPart])).min(1, "content is empty"),
]);

const toolCall = z.object({
  id: z.string().min(1),
  type: z.literal("function"),
  function: z.object({ name: z.string().regex(NAME), arguments: z.string() }),
});

const message = z.discriminatedUnion("role", [
  z.object({ role: z.literal("system"), content }),
  z.object({ role: z.literal("developer"), content }),
  z.object({ role: z.literal("user"), content }),
  z.object({
    role: z.literal("assistant"),
    content: z.union([content, z.literal(""), z.null()]).optional(),
    tool_calls: z.array(toolCall).min(1, "tool_calls is empty").optional(),
  }),
  z.object({ role: z.literal("tool"), content, tool_call_id: z.string() }),
]);

const tool = z.object({
  type: z.literal("function"),
  function: z.object({
    name: z.string().regex(NAME),
    description: z.string().optional(),
    parameters: jsonObject.optional(),
    strict: z.boolean().nullish(),
  }),
});

/** The part of OpenAI's chat-completions request that is understood; further members are let through unread. */
const chatRequest = z.object({
  model: z.string().min(1),
  messages: z.array(message).min(1, "messages is empty"),
  tools: z.array(tool).min(1, "tools is empty").max(MAX_TOOLS_COUNT).optional(),
  tool_choice: z
    .union([
      z.enum(["none", "auto", "required"]),
      z.object({ type: z.literal("function"), function: z.object({ name: z.string() }) }),
    ])
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  response_format: z
    .discriminatedUnion("type", [
      z.object({ type: z.literal("text") }),
      z.object({ type: z.literal("json_object") }),
      z.object({
        type: z.literal("json_schema"),
        json_schema: z.object({ name: z.string().regex(NAME), schema: json, strict: z.boolean().nullish() }),
      }),
    ])
    .optional(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().optional() }).nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  n: z.literal(1, "only one choice is made").nullish(),
});

export type ChatRequest = z.infer<typeof chatRequest>;
export type ChatMessage = ChatRequest["messages"][number];
export type ToolDefinition = NonNullable<ChatRequest["tools"]>[number]["function"];

/** An error in OpenAI's shape, with the status that it is sent under. */
export interface ApiError {
  readonly status: 400 | 404 | 405 | 413;
  readonly error: {
    readonly message: string;
    readonly type: "invalid_request_error";
    readonly code: string | null;
    readonly param: string | null;
  };
}

export type ReadRequest =
  | { readonly ok: true; readonly request: ChatRequest }
  | { readonly ok: false; readonly failure: ApiError };

export function apiError(
  status: ApiError["status"],
  message: string,
  param: string | null = null,
  code: string | null = null,
): ApiError {
  return { status, error: { message, type: "invalid_request_error", code, param } };
}

/** Checks a body as strictly as OpenAI does: its form, then that tool calls and tool messages pair up. */
export function readRequest(body: Json): ReadRequest {
  const parsed = chatRequest.safeParse(body);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const param = (issue?.path ?? []).map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
    const name = param.replace(/^\./, "");
    return { ok: false, failure: apiError(400, `Invalid request: ${name}: ${issue?.message}`, name, "invalid_value") };
  }
  const failure = unpaired(parsed.data.messages);
  return failure === undefined ? { ok: true, request: parsed.data } : { ok: false, failure };
}

/** Every tool call is answered by exactly one tool message, directly after, before any other message. */
function unpaired(messages: readonly ChatMessage[]): ApiError | undefined {
  const open = new Set<string>();
  const missing = (at: number): ApiError =>
    apiError(400, `No tool message answers these tool_calls: ${[...open].join(", ")}`, `messages[${at}]`);
  for (const [i, entry] of messages.entries()) {
    if (entry.role === "tool") {
      if (open.delete(entry.tool_call_id)) continue;
      return apiError(400, `A tool message answers no tool call: ${entry.tool_call_id}`, `messages[${i}].role`);
    }
    if (open.size > 0) return missing(i);
    if (entry.role !== "assistant") continue;
    for (const call of entry.tool_calls ?? []) {
      if (open.has(call.id)) return apiError(400, `Two tool calls have the id ${call.id}`, `messages[${i}].tool_calls`);
      open.add(call.id);
    }
    if (entry.tool_calls === undefined && (entry.content ?? "") === "") {
      return apiError(400, "An assistant message needs content or tool_calls", `messages[${i}].content`);
    }
  }
  return open.size > 0 ? missing(messages.length - 1) : undefined;
}

/** The text of a message; images and the like have none. */
export function textOf(entry: ChatMessage): string {
  const given = entry.content ?? "";
  return typeof given === "string" ? given : given.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}
