// The form of a request to /v1/responses. Members that the public API reference doesn't name are refused, as there ("Unknown parameter").
import * as z from "zod";
import { both, callId, effort, imageUrl, json, name, pdfData, schema, text } from "./shape-common.ts";

const inputText = z.strictObject({ type: z.literal("input_text"), text });
const inputImage = z.strictObject({
  type: z.literal("input_image"),
  image_url: imageUrl,
  detail: z.enum(["low", "high", "auto", "original"]).optional(),
});
const inputFile = z.strictObject({ type: z.literal("input_file"), filename: text, file_data: pdfData });
const content = z.array(z.discriminatedUnion("type", [inputText, inputImage, inputFile])).min(1);

const said = z.strictObject({
  type: z.literal("message").optional(),
  role: z.enum(["user", "system", "developer"]),
  content: z.union([text, content]),
});
const phase = z.enum(["commentary", "final_answer"]).optional();
const outputText = z.strictObject({
  type: z.literal("output_text"),
  text,
  annotations: z.array(z.unknown()),
});
/** Of an earlier answer: with the id that it was given, or as if somebody else had written it. */
const answered = z.strictObject({
  type: z.literal("message"),
  role: z.literal("assistant"),
  id: z.string().startsWith("msg_"),
  status: z.enum(["completed", "incomplete"]),
  content: z.array(outputText).min(1),
  phase,
});
const easy = z.strictObject({
  type: z.literal("message").optional(),
  role: z.literal("assistant"),
  content: text,
  phase,
});
const call = z.strictObject({
  type: z.literal("function_call"),
  id: z.string().startsWith("fc_").optional(),
  call_id: callId,
  name,
  arguments: json,
});
const output = z.strictObject({
  type: z.literal("function_call_output"),
  call_id: callId,
  output: z.union([text, content]),
});
const reasoning = z.strictObject({
  type: z.literal("reasoning"),
  id: z.string().startsWith("rs_"),
  summary: z.array(z.strictObject({ type: z.literal("summary_text"), text: z.string() })),
  encrypted_content: z.string().min(1).nullish(),
  status: z.string().nullish(),
});
const search = z.strictObject({
  type: z.literal("web_search_call"),
  id: z.string().startsWith("ws_"),
  status: z.literal("completed"),
  action: z.looseObject({ type: z.string() }),
});
const item = z.union([answered, easy, said, call, output, reasoning, search]);
export type InputItem = z.infer<typeof item>;

const tool = z.union([
  z.strictObject({
    type: z.literal("function"),
    name,
    description: text.optional(),
    parameters: schema,
    strict: z.boolean(),
  }),
  z.looseObject({ type: z.string().regex(/^(web_search|file_search|code_interpreter)/) }),
]);

export const responsesBody = z.strictObject({
  ...both,
  input: z.array(item).min(1),
  instructions: text.optional(),
  max_output_tokens: z.int().min(16, "integer below minimum value. Expected a value >= 16"),
  tools: z.array(tool).min(1).optional(),
  tool_choice: z.union([z.enum(["auto", "none", "required"]), z.looseObject({ type: z.string() })]).optional(),
  max_tool_calls: z.int().positive().optional(),
  text: z
    .strictObject({
      verbosity: z.enum(["low", "medium", "high"]).optional(),
      format: z.strictObject({ type: z.literal("json_schema"), name, schema, strict: z.literal(false) }).optional(),
    })
    .optional(),
  reasoning: z
    .strictObject({
      effort: effort.optional(),
      summary: z.enum(["auto", "concise", "detailed"]).optional(),
      context: z.enum(["auto", "current_turn", "all_turns"]).optional(),
    })
    .optional(),
  include: z.array(z.string()).min(1).optional(),
  store: z.boolean(),
  background: z.boolean().optional(),
  truncation: z.enum(["auto", "disabled"]).optional(),
});
export type ResponsesBody = z.infer<typeof responsesBody>;
