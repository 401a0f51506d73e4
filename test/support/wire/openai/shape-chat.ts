// The form of a request to /v1/chat/completions, likewise strict.
import * as z from "zod";
import { both, callId, effort, imageUrl, json, name, pdfData, schema, text } from "./shape-common.ts";

const part = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text }),
  z.strictObject({
    type: z.literal("image_url"),
    image_url: z.strictObject({ url: imageUrl, detail: z.enum(["auto", "low", "high", "original"]).optional() }),
  }),
  z.strictObject({
    type: z.literal("file"),
    file: z.strictObject({ filename: text, file_data: pdfData }),
  }),
]);
const call = z.strictObject({
  id: callId,
  type: z.literal("function"),
  function: z.strictObject({ name, arguments: json }),
});
const message = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("system"), content: text }),
  z.strictObject({ role: z.literal("developer"), content: text }),
  z.strictObject({ role: z.literal("user"), content: z.union([text, z.array(part).min(1)]) }),
  z.strictObject({ role: z.literal("tool"), tool_call_id: callId, content: text }),
  z.strictObject({
    role: z.literal("assistant"),
    content: text.nullable(),
    tool_calls: z.array(call).min(1).max(128).optional(),
    /** Of servers that show reasoning; OpenAI's own has none. */
    reasoning_content: z.string().optional(),
  }),
]);
export type ChatMessage = z.infer<typeof message>;

export const chatBody = z.strictObject({
  ...both,
  messages: z.array(message).min(1),
  max_tokens: z.int().positive().optional(),
  max_completion_tokens: z.int().min(16, "integer below minimum value. Expected a value >= 16").optional(),
  tools: z
    .array(
      z.strictObject({
        type: z.literal("function"),
        function: z.strictObject({
          name,
          description: text.optional(),
          parameters: schema,
          strict: z.boolean().optional(),
        }),
      }),
    )
    .min(1)
    .optional(),
  tool_choice: z.union([z.enum(["auto", "none", "required"]), z.looseObject({ type: z.string() })]).optional(),
  response_format: z
    .strictObject({ type: z.literal("json_schema"), json_schema: z.strictObject({ name, schema }) })
    .optional(),
  reasoning_effort: effort.optional(),
  verbosity: z.enum(["low", "medium", "high"]).optional(),
  frequency_penalty: z.number().optional(),
  presence_penalty: z.number().optional(),
  seed: z.int().optional(),
  stop: z.union([z.string(), z.array(z.string())]).optional(),
  store: z.boolean().optional(),
  stream_options: z.strictObject({ include_usage: z.boolean() }).optional(),
});
export type ChatBody = z.infer<typeof chatBody>;
