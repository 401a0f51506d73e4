// The form of a Messages request, as the public API reference gives it. Members that it doesn't name are refused, as there ("Extra inputs are not permitted").
import * as z from "zod";

const jsonObject = z.record(z.string(), z.json());
const cached = {
  cache_control: z.strictObject({ type: z.literal("ephemeral"), ttl: z.enum(["5m", "1h"]).optional() }).nullish(),
};
const base64 = z
  .string()
  .min(1)
  .refine((text) => Buffer.from(text, "base64").toString("base64") === text, "is no base64");
const id = z.string().regex(/^[a-zA-Z0-9_-]+$/);
const name = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/);

const text = z.strictObject({
  type: z.literal("text"),
  text: z.string().refine((value) => value.trim() !== "", "text content blocks must contain non-whitespace text"),
  ...cached,
});
const image = z.strictObject({
  type: z.literal("image"),
  source: z.strictObject({
    type: z.literal("base64"),
    media_type: z.enum(["image/jpeg", "image/png", "image/gif", "image/webp"]),
    data: base64,
  }),
  ...cached,
});
const document = z.strictObject({
  type: z.literal("document"),
  source: z.strictObject({ type: z.literal("base64"), media_type: z.literal("application/pdf"), data: base64 }),
  title: z.string().min(1).max(500).optional(),
  ...cached,
});
const toolResult = z.strictObject({
  type: z.literal("tool_result"),
  tool_use_id: id,
  content: z.union([z.string(), z.array(z.discriminatedUnion("type", [text, image, document]))]).optional(),
  is_error: z.boolean().optional(),
  ...cached,
});
const toolUse = z.strictObject({ type: z.literal("tool_use"), id, name, input: jsonObject, ...cached });
const thinking = z.strictObject({ type: z.literal("thinking"), thinking: z.string(), signature: z.string().min(1) });
const redacted = z.strictObject({ type: z.literal("redacted_thinking"), data: z.string().min(1) });
const serverToolUse = z.strictObject({
  type: z.literal("server_tool_use"),
  id: z.string().regex(/^srvtoolu_[a-zA-Z0-9_]+$/),
  name: z.enum(["web_search", "web_fetch", "code_execution"]),
  input: jsonObject,
  ...cached,
});
const webSearchResult = z.strictObject({
  type: z.literal("web_search_tool_result"),
  tool_use_id: z.string(),
  content: z.array(z.looseObject({ type: z.literal("web_search_result"), encrypted_content: z.string().min(1) })),
  ...cached,
});

const userBlock = z.discriminatedUnion("type", [text, image, document, toolResult]);
const assistantBlock = z.discriminatedUnion("type", [
  text,
  toolUse,
  thinking,
  redacted,
  serverToolUse,
  webSearchResult,
]);
const content = <T extends z.ZodType>(block: T) => z.array(block).min(1, "messages must have non-empty content");
const message = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("user"), content: content(userBlock) }),
  z.strictObject({ role: z.literal("assistant"), content: content(assistantBlock) }),
]);

const tool = z.strictObject({
  name,
  description: z.string().optional(),
  input_schema: z.looseObject({ type: z.literal("object") }),
  type: z.literal("custom").optional(),
  ...cached,
});
const serverTool = z.looseObject({ type: z.string().regex(/_\d{8}$/), name, ...cached });

const display = z.enum(["summarized", "omitted"]).optional();
export const messagesBody = z.strictObject({
  model: z.string().min(1),
  max_tokens: z.int().min(1),
  messages: z.array(message).min(1).max(100_000),
  system: z.array(text).min(1).optional(),
  tools: z
    .array(z.union([tool, serverTool]))
    .min(1)
    .optional(),
  tool_choice: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("auto"), disable_parallel_tool_use: z.boolean().optional() }),
      z.strictObject({ type: z.literal("any"), disable_parallel_tool_use: z.boolean().optional() }),
      z.strictObject({ type: z.literal("tool"), name, disable_parallel_tool_use: z.boolean().optional() }),
      z.strictObject({ type: z.literal("none") }),
    ])
    .optional(),
  thinking: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("adaptive"), display }),
      z.strictObject({ type: z.literal("enabled"), budget_tokens: z.int().min(1_024), display }),
      z.strictObject({ type: z.literal("disabled") }),
      z.strictObject({ type: z.literal("between_tools") }),
    ])
    .optional(),
  output_config: z
    .strictObject({
      effort: z.enum(["low", "medium", "high", "xhigh", "max"]).optional(),
      format: z.strictObject({ type: z.literal("json_schema"), schema: z.json() }).optional(),
    })
    .optional(),
  temperature: z.number().min(0).max(1).optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.int().nonnegative().optional(),
  stop_sequences: z.array(z.string().min(1)).optional(),
  metadata: z.strictObject({ user_id: z.string().max(256) }).optional(),
  service_tier: z.enum(["auto", "standard_only"]).optional(),
  inference_geo: z.string().optional(),
  stream: z.boolean().optional(),
});

export type Body = z.infer<typeof messagesBody>;
export type WireMessage = Body["messages"][number];
export type WireBlock = WireMessage["content"][number];
