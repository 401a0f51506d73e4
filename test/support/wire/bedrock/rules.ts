// What Bedrock refuses beyond the form of a request: the order of turns, results without calls, and what each family of models doesn't take. Each rule is one
// that the documentation or an error text of Bedrock states; written apart from the adapter, which doesn't share it.
import type { Json } from "../../../../shared/core/json.ts";
import { blocksOf, type ConverseBody, type WireBlock, type WireMessage } from "./shape.ts";
import { prefixOf, verified } from "./signature.ts";

export interface Asked {
  readonly modelId: string;
  readonly stream: boolean;
  readonly body: ConverseBody;
}

/** The text of the ValidationException; null: it is taken. */
export function refusal(asked: Asked): string | null {
  for (const rule of RULES) {
    const found = rule(asked, familyOf(asked.modelId));
    if (found !== null) return found;
  }
  return null;
}

type Family = "claude" | "nova" | "other";
type Rule = (asked: Asked, family: Family) => string | null;

export const familyOf = (modelId: string): Family =>
  /anthropic\.claude/.test(modelId) ? "claude" : /amazon\.nova/.test(modelId) ? "nova" : "other";

const firstOf = <T>(items: readonly T[], find: (item: T, i: number) => string | null): string | null => {
  for (const [i, item] of items.entries()) {
    const found = find(item, i);
    if (found !== null) return found;
  }
  return null;
};

const wellFormed: Rule = ({ body }) => {
  let found: string | null = null;
  JSON.stringify(body, (key, value: unknown) => {
    if (!key.isWellFormed() || (typeof value === "string" && !value.isWellFormed()))
      found ??= "The request body is not valid JSON: no low surrogate in string";
    return value;
  });
  return found;
};

const alternation: Rule = ({ body: { messages } }) => {
  if (messages[0]?.role !== "user")
    return "A conversation must start with a user message. Try again with a conversation that starts with a user message.";
  const twice = messages.findIndex(({ role }, i) => role === messages[i - 1]?.role);
  if (twice > 0) return `messages.${twice}: roles must alternate between "user" and "assistant"`;
  if (messages.at(-1)?.role !== "user")
    return "This model does not support assistant message prefill. The conversation must end with a user message.";
  return null;
};

const ownBlocks: Rule = ({ body: { messages } }) =>
  firstOf(messages, ({ role, content }, i) => {
    const foreign = role === "user" ? ["toolUse", "reasoningContent"] : ["toolResult", "image", "document"];
    const found = foreign.find((key) => content.some((block) => key in block));
    return found === undefined ? null : `messages.${i}: a message of the ${role} can't hold ${found}`;
  });

const pairing: Rule = ({ body: { messages } }) => {
  const seen = new Set<string>();
  return firstOf(messages, ({ role, content }, i) => {
    const uses = role === "assistant" ? [] : idsOf(messages[i - 1]);
    const results = blocksOf(content, "toolResult").map(({ toolResult }) => toolResult.toolUseId);
    if (role === "assistant") {
      const twice = idsOf({ role, content }).find((id) => seen.has(id) || !seen.add(id));
      return twice === undefined ? null : `messages.${i}: \`tool_use\` ids must be unique: ${twice}`;
    }
    const missing = uses.filter((id) => !results.includes(id));
    if (missing.length > 0)
      return `Expected toolResult blocks at messages.${i}.content for the following Ids: ${missing.join(", ")}`;
    if (results.length > uses.length || new Set(results).size < results.length)
      return `The number of toolResult blocks at messages.${i}.content exceeds the number of toolUse blocks of previous turn.`;
    const first = content.findIndex((block) => !("toolResult" in block));
    if (first >= 0 && content.slice(first).some((block) => "toolResult" in block))
      return `messages.${i}: results must stand at the beginning of the turn`;
    return null;
  });
};

const idsOf = (message: WireMessage | undefined): string[] =>
  blocksOf(message?.content ?? [], "toolUse").map(({ toolUse }) => toolUse.toolUseId);

const toolConfig: Rule = ({ body: { messages, toolConfig: config } }) => {
  const used = messages.some(({ content }) => content.some((block) => "toolUse" in block || "toolResult" in block));
  if (used && config === undefined)
    return "The toolConfig field must be defined when using toolUse and toolResult content blocks.";
  const names = (config?.tools ?? []).flatMap((tool) => ("toolSpec" in tool ? tool.toolSpec.name : []));
  return new Set(names).size === names.length ? null : "toolConfig.tools: names must be unique";
};

/** Everything in the order in which a cache takes it. */
export const blocksInOrder = ({ body: { toolConfig: config, system = [], messages } }: Asked): object[] => [
  ...(config?.tools ?? []),
  ...system,
  ...messages.flatMap(({ content }) => content),
];

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
  const lastTurn = messages.findLast(({ role }) => role === "assistant")?.content ?? [];
  const first = lastTurn[0];
  if (thinks && lastTurn.some((block) => "toolUse" in block) && first !== undefined && !("reasoningContent" in first))
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

function closed(schema: Json): boolean {
  if (typeof schema !== "object" || schema === null) return true;
  if (Array.isArray(schema)) return schema.every(closed);
  const { type, additionalProperties, minimum, minLength, pattern } = schema as { readonly [key: string]: Json };
  if (type === "object" && additionalProperties !== false) return false;
  if ((minimum ?? minLength ?? pattern) !== undefined) return false;
  return Object.values(schema).every(closed);
}

const RULES: readonly Rule[] = [
  wellFormed,
  alternation,
  ownBlocks,
  pairing,
  toolConfig,
  streaming,
  marks,
  reasoning,
  mixing,
  status,
  novaSchemas,
  files,
  unreadable,
  settings,
];
