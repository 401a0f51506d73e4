// What each family of models behind Bedrock doesn't take. Each rule is one that the documentation or an error text of Bedrock states; written apart from the
// adapter, which doesn't share it.
import type { Json } from "../../../../shared/core/json.ts";
import { blocksInOrder, type Family, firstOf, type Rule } from "./asked.ts";
import { blocksOf, type WireBlock } from "./shape.ts";
import { prefixOf, verified } from "./signature.ts";

const marks: Rule = (asked, family) => {
  const { toolConfig: config, system = [], messages } = asked.body;
  const all = blocksInOrder(asked).filter((block) => "cachePoint" in block).length;
  if (all > 4) return `You can use up to 4 cache points, not ${all}.`;
  if (all > 0 && !cachesAtAll(asked.modelId, family))
    return "Malformed input request: extraneous key [cachePoint] is not permitted";
  const inTools = (config?.tools ?? []).findIndex((tool) => "cachePoint" in tool);
  if (inTools >= 0 && family === "nova")
    return `Malformed input request: #/toolConfig/tools/${inTools}: extraneous key [cachePoint] is not permitted, please reformat your input and try again.`;
  for (const list of [config?.tools ?? [], system, ...messages.map(({ content }) => content)]) {
    const at = list.findIndex((block) => "cachePoint" in block);
    const before: object | undefined = list[at - 1];
    if (at === 0) return "A cache point must follow what it caches.";
    if (at > 0 && before !== undefined && "reasoningContent" in before)
      return "Cache point cannot be inserted after reasoning block. Please remove the invalid cache point and try again.";
    if (at > 0 && family === "nova" && before !== undefined && "toolResult" in before)
      return "Malformed input request: extraneous key [cachePoint] is not permitted after a tool result";
  }
  return null;
};

const cachesAtAll = (modelId: string, family: Family): boolean =>
  family === "nova" ||
  (family === "claude" && !/claude-(?:v2|instant|3-(?:opus|sonnet|haiku)|3-5-sonnet)/.test(modelId));

const reasoning: Rule = ({ modelId, body }, family) => {
  const { messages, additionalModelRequestFields: more } = body;
  const found = firstOf(messages, ({ role, content }, i) => {
    const blocks = blocksOf(content, "reasoningContent");
    if (role === "user" || blocks.length === 0) return null;
    if (family !== "claude")
      return "User messages cannot contain reasoning content. Please remove the reasoning content and try again.";
    const last = content.at(-1);
    if (last !== undefined && "reasoningContent" in last)
      return `messages.${i}: The final block in an assistant message cannot be \`thinking\`.`;
    const bad = blocks.findIndex(
      ({ reasoningContent }) => !verified(modelId, reasoningContent, prefixOf(modelId, body, i)),
    );
    return bad < 0
      ? null
      : `messages.${i}.content.${bad}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation.`;
  });
  if (found !== null) return found;
  const thinks = (more?.thinking as { readonly type?: string } | undefined)?.type === "enabled";
  const asked = messages.findLastIndex(
    ({ role, content }) => role === "user" && !content.some((block) => "toolResult" in block),
  );
  const first = messages[asked + 1]?.content[0];
  if (thinks && first !== undefined && !("reasoningContent" in first))
    return "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block.";
  return null;
};

const mixing: Rule = ({ body: { messages } }, family) => {
  if (family !== "other") return null;
  return firstOf(messages, ({ content }, i) => {
    const results = content.filter((block) => "toolResult" in block).length;
    return results === 0 || results === content.length
      ? null
      : `messages.${i}.content: Conversation blocks and tool result blocks cannot be provided in the same turn.`;
  });
};

const status: Rule = ({ body: { messages } }, family) => {
  const said = messages.some(({ content }) =>
    blocksOf(content, "toolResult").some(({ toolResult }) => toolResult.status !== undefined),
  );
  return said && family === "other" ? "This model doesn't support the status field for toolResult." : null;
};

const streaming: Rule = ({ modelId, stream, body: { toolConfig: config } }) => {
  if (!stream) return null;
  if (/cohere\.command-text/.test(modelId))
    return "The model is unsupported in ConverseStream: this model doesn't support streaming.";
  return config !== undefined && /^(?:us\.)?(?:meta|mistral)\.|cohere\.command-r/.test(modelId)
    ? "This model doesn't support tool use in streaming mode."
    : null;
};

const novaSchemas: Rule = ({ body: { toolConfig: config } }, family) => {
  if (family !== "nova") return null;
  return firstOf(config?.tools ?? [], (tool, i) => {
    if (!("toolSpec" in tool)) return null;
    const extra = Object.keys(tool.toolSpec.inputSchema.json).find(
      (key) => !["type", "properties", "required"].includes(key),
    );
    return extra === undefined
      ? null
      : `Malformed input request: #/toolConfig/tools/${i}/toolSpec/inputSchema/json: extraneous key [${extra}] is not permitted, please reformat your input and try again.`;
  });
};

const claudeSchemas: Rule = ({ body: { toolConfig: config } }, family) => {
  if (family !== "claude") return null;
  return firstOf(config?.tools ?? [], (tool, i) => {
    if (!("toolSpec" in tool)) return null;
    const { json } = tool.toolSpec.inputSchema;
    if (["anyOf", "oneOf", "allOf"].some((key) => key in json))
      return `tools.${i}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`;
    return plainNames(json)
      ? null
      : `tools.${i}.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`;
  });
};

function plainNames(schema: Json): boolean {
  if (typeof schema !== "object" || schema === null) return true;
  if (Array.isArray(schema)) return schema.every(plainNames);
  const { properties } = schema as { readonly [key: string]: Json };
  const names = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  return names.every((name) => /^[a-zA-Z0-9_.-]{1,64}$/.test(name)) && Object.values(schema).every(plainNames);
}

const files: Rule = ({ modelId, body: { messages } }, family) => {
  const shown = messages.flatMap(({ content }) => [
    ...content,
    ...blocksOf(content, "toolResult").flatMap(({ toolResult }): readonly WireBlock[] =>
      toolResult.content.filter((block): block is Extract<typeof block, WireBlock> => !("json" in block)),
    ),
  ]);
  const nested = messages.flatMap(({ content }) =>
    blocksOf(content, "toolResult").flatMap(({ toolResult }) => toolResult.content),
  );
  const images = blocksOf(shown, "image");
  const documents = blocksOf(shown, "document");
  const seeing =
    family === "nova"
      ? !/nova-micro/.test(modelId)
      : family === "claude"
        ? !/3-5-haiku|v2/.test(modelId)
        : /llama4|pixtral/.test(modelId);
  if (images.length > 0 && !seeing) return "This model doesn't support the image field. Remove image and try again.";
  if (documents.length > 0 && (!seeing || family === "other"))
    return "This model doesn't support documents. Remove document and try again.";
  if (images.length > 20) return "too many images";
  if (images.some(({ image }) => image.source.bytes.length > 5 * 1024 * 1024)) return "image exceeds 5 MB maximum";
  if (nested.some((block) => "image" in block) && family === "other")
    return "This model doesn't support the image field for toolResult.";
  if (nested.some((block) => "document" in block) && family === "claude")
    return "`tool_use` ids were found without `tool_result` blocks immediately after: a tool result can't hold a document";
  if (documents.length > 5) return "You can include up to 5 documents.";
  const names = documents.map(({ document }) => document.name.toLowerCase());
  if (new Set(names).size < names.length)
    return "Messages can't contain duplicate document names. Rename the document and retry your request.";
  const alone = messages.findIndex(
    ({ content }) => content.some((block) => "document" in block) && !content.some((block) => "text" in block),
  );
  return alone < 0 ? null : `messages.${alone}: a document must stand beside a text`;
};

/** Files that nobody can open: a PDF with a password, a picture that isn't one. */
const unreadable: Rule = ({ body: { messages } }) => {
  const broken = (block: object): string | null => {
    const text = (bytes: string): string => Buffer.from(bytes, "base64").toString("latin1");
    if ("document" in block && text((block as Document).document.source.bytes).includes("/Encrypt"))
      return "The PDF specified is password protected.";
    return "image" in block && text((block as Image).image.source.bytes).includes("BROKEN")
      ? "Could not process image"
      : null;
  };
  return firstOf(messages, ({ content }, i) =>
    firstOf<WireBlock>(content, (block, j) => {
      const place = `messages.${i}.content.${j}`;
      const own = broken(block);
      if (own !== null) return `The model returned the following errors: ${place}.source: ${own}`;
      const within = "toolResult" in block ? block.toolResult.content : [];
      return firstOf<object>(within, (nested, k) => {
        const found = broken(nested);
        return found === null
          ? null
          : `The model returned the following errors: ${place}.content.${k}.source: ${found}`;
      });
    }),
  );
};
type Image = Extract<WireBlock, { readonly image: unknown }>;
type Document = Extract<WireBlock, { readonly document: unknown }>;

const settings: Rule = (
  { modelId, body: { inferenceConfig = {}, additionalModelRequestFields: more = {}, outputConfig } },
  family,
) => {
  const { temperature, topP, maxTokens } = inferenceConfig;
  if (family === "claude" && /4-[78]|-5(?:-\d)?$/.test(modelId) && (temperature ?? topP) !== undefined)
    return "`temperature` is deprecated for this model.";
  if (family === "claude" && /4-[1-6]/.test(modelId) && temperature !== undefined && topP !== undefined)
    return "`temperature` and `top_p` cannot both be specified for this model. Please use only one.";
  const reasoningConfig = more.reasoningConfig as { readonly maxReasoningEffort?: string } | undefined;
  if (reasoningConfig?.maxReasoningEffort === "high" && maxTokens !== undefined)
    return "maxTokens must be unset when maxReasoningEffort is high";
  const format = outputConfig?.textFormat;
  if (format === undefined) return null;
  if (!/claude-(?:(?:haiku|sonnet|opus)-4-[56]|sonnet-5)/.test(modelId))
    return "This model doesn't support the outputConfig.textFormat field.";
  return closed(JSON.parse(format.structure.jsonSchema.schema) as Json)
    ? null
    : "outputConfig.textFormat: objects need additionalProperties: false";
};

/** Which ways of thinking a model of a version takes. */
const thinking: Rule = ({ modelId, body }, family) => {
  const { additionalModelRequestFields: more = {}, inferenceConfig } = body;
  const given = more.thinking as { readonly type?: string; readonly budget_tokens?: number } | undefined;
  if (given === undefined) return null;
  if (family !== "claude") return "Malformed input request: #: extraneous key [thinking] is not permitted";
  const [, major = "0", minor = "0"] = /claude-[a-z]+-(\d)(?:-(\d)(?!\d))?/.exec(modelId) ?? [];
  const version = Number(`${major}.${minor}`) || 3.7;
  if (given.type === "enabled" && version >= 4.7) return '"thinking.type.enabled" is not supported for this model.';
  if (given.type === "adaptive" && version < 4.6) return "adaptive thinking is not supported on this model";
  if (given.type === "enabled" && !((given.budget_tokens ?? 0) >= 1_024))
    return "thinking.enabled.budget_tokens: too small";
  if (given.type === "enabled" && (given.budget_tokens ?? 0) >= (inferenceConfig?.maxTokens ?? 0))
    return "`max_tokens` must be greater than `thinking.budget_tokens`.";
  return null;
};

function closed(schema: Json): boolean {
  if (typeof schema !== "object" || schema === null) return true;
  if (Array.isArray(schema)) return schema.every(closed);
  const { type, additionalProperties, minimum, minLength, pattern } = schema as { readonly [key: string]: Json };
  if (type === "object" && additionalProperties !== false) return false;
  if ((minimum ?? minLength ?? pattern) !== undefined) return false;
  return Object.values(schema).every(closed);
}

export const FAMILY_RULES: readonly Rule[] = [
  streaming,
  marks,
  reasoning,
  mixing,
  status,
  novaSchemas,
  claudeSchemas,
  files,
  unreadable,
  settings,
  thinking,
];
