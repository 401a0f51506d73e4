// The form of a Converse request, as the public API reference gives it. Members that it doesn't name are refused, unlike there: they would be mistakes of ours.
import * as z from "zod";

const json = z.json();
const jsonObject = z.record(z.string(), json);
const base64 = z
  .string()
  .min(1)
  .refine((text) => Buffer.from(text, "base64").toString("base64") === text, "is no base64");
const text = z
  .string()
  .refine((value) => value.trim() !== "", "text content blocks must contain non-whitespace text")
  .refine((value) => value.isWellFormed(), "has a lone surrogate");
const id = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);

const cachePoint = z.strictObject({
  cachePoint: z.strictObject({ type: z.literal("default"), ttl: z.enum(["5m", "1h"]).optional() }),
});
const textBlock = z.strictObject({ text });
const image = z.strictObject({
  image: z.strictObject({
    format: z.enum(["png", "jpeg", "gif", "webp"]),
    source: z.strictObject({ bytes: base64 }),
  }),
});
const document = z.strictObject({
  document: z.strictObject({
    format: z.enum(["pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"]),
    name: z
      .string()
      .min(1)
      .max(200)
      .regex(/^(?!.*\s\s)[a-zA-Z0-9\s\-()[\]]+$/, "may hold letters, digits, single spaces, hyphens and brackets"),
    source: z.strictObject({ bytes: base64 }),
  }),
});
const toolUse = z.strictObject({ toolUse: z.strictObject({ toolUseId: id, name: id, input: jsonObject }) });
const toolResult = z.strictObject({
  toolResult: z.strictObject({
    toolUseId: id,
    content: z.array(z.union([textBlock, image, document, z.strictObject({ json: jsonObject })])).min(1),
    status: z.enum(["success", "error"]).optional(),
  }),
});
const reasoningContent = z.strictObject({
  reasoningContent: z.union([
    z.strictObject({ reasoningText: z.strictObject({ text: z.string(), signature: z.string().min(1).optional() }) }),
    z.strictObject({ redactedContent: base64 }),
  ]),
});

const message = z.strictObject({
  role: z.enum(["user", "assistant"]),
  content: z
    .array(z.union([textBlock, image, document, toolUse, toolResult, reasoningContent, cachePoint]))
    .min(
      1,
      "The content field in the Message object is empty. Add a ContentBlock object to the content field and try again.",
    ),
});

const toolSpec = z.strictObject({
  toolSpec: z.strictObject({
    name: id,
    description: z.string().min(1).optional(),
    inputSchema: z.strictObject({
      json: jsonObject.refine(({ type }) => type === "object", "the type of the root must be object"),
    }),
    strict: z.boolean().optional(),
  }),
});

export const converseBody = z.strictObject({
  messages: z.array(message).min(1),
  system: z
    .array(z.union([textBlock, cachePoint]))
    .min(1)
    .optional(),
  toolConfig: z
    .strictObject({
      tools: z.array(z.union([toolSpec, cachePoint])).min(1),
      toolChoice: z
        .union([z.strictObject({ auto: z.strictObject({}) }), z.strictObject({ any: z.strictObject({}) })])
        .optional(),
    })
    .optional(),
  inferenceConfig: z
    .strictObject({
      maxTokens: z.int().min(1).optional(),
      temperature: z.number().min(0).max(1).optional(),
      topP: z.number().min(0).max(1).optional(),
      stopSequences: z.array(z.string().min(1)).max(2_500).optional(),
    })
    .optional(),
  additionalModelRequestFields: jsonObject.optional(),
  guardrailConfig: z
    .strictObject({
      guardrailIdentifier: z.string().min(1),
      guardrailVersion: z.string().min(1),
      trace: z.enum(["enabled", "disabled", "enabled_full"]).optional(),
      streamProcessingMode: z.enum(["sync", "async"]).optional(),
    })
    .optional(),
  performanceConfig: z.strictObject({ latency: z.enum(["standard", "optimized"]) }).optional(),
  serviceTier: z.strictObject({ type: z.enum(["default", "priority", "flex", "reserved"]) }).optional(),
  requestMetadata: z.record(z.string().min(1).max(256), z.string().max(256)).optional(),
  outputConfig: z
    .strictObject({
      effort: z.enum(["low", "medium", "high", "xhigh", "max"]).optional(),
      textFormat: z
        .strictObject({
          type: z.literal("json_schema"),
          structure: z.strictObject({
            jsonSchema: z.strictObject({
              schema: z.string(),
              name: z.string().min(1).optional(),
              description: z.string().optional(),
            }),
          }),
        })
        .optional(),
    })
    .optional(),
});

export type ConverseBody = z.infer<typeof converseBody>;
export type WireMessage = ConverseBody["messages"][number];
export type WireBlock = WireMessage["content"][number];

/** The blocks of a kind, in order. */
export const blocksOf = <K extends string>(
  content: readonly WireBlock[],
  key: K,
): Extract<WireBlock, { readonly [k in K]: unknown }>[] =>
  content.filter((block): block is Extract<WireBlock, { readonly [k in K]: unknown }> => key in block);
