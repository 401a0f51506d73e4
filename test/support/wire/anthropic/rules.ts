// What Messages refuses beyond the form of a request, each rule as the documentation or an error text of the API states it; written apart from the adapter,
// which doesn't share it. Where the API is lenient (turns of one role in a row, which it merges) this server isn't: it would be a mistake of ours.
import { canonical, toJson } from "../../../../shared/core/json.ts";
import { hasLoneSurrogate } from "../body.ts";
import { schemaRules } from "./schema-rules.ts";
import type { Body, WireBlock, WireMessage } from "./shape.ts";
import { digest, prefixDigest, readSignature } from "./signature.ts";
import { traitsOf } from "./traits.ts";

export interface Known {
  /** The last blocks of turns that this server paused, by digest. */
  readonly paused: ReadonlySet<string>;
}
type Rule = (body: Body, known: Known) => string | null;

/** The message of the 400; null: it is taken. */
export function refusal(body: Body, known: Known): string | null {
  for (const rule of RULES) {
    const found = rule(body, known);
    if (found !== null) return found;
  }
  return null;
}

function firstOf<T>(items: readonly T[], find: (item: T, i: number) => string | null): string | null {
  for (const [i, item] of items.entries()) {
    const found = find(item, i);
    if (found !== null) return found;
  }
  return null;
}

const everyBlock = (body: Body, find: (block: WireBlock, place: string) => string | null): string | null =>
  firstOf(body.messages, ({ content }, i) =>
    firstOf<WireBlock>(content, (block, j) => find(block, `messages.${i}.content.${j}`)),
  );

const wellFormed: Rule = (body) =>
  hasLoneSurrogate(body) ? "The request body is not valid JSON: no low surrogate in string" : null;

const turns: Rule = ({ messages }) => {
  if (messages[0]?.role !== "user") return 'messages: first message must use the "user" role';
  const twice = messages.findIndex(({ role }, i) => role === messages[i - 1]?.role);
  return twice > 0 ? `messages.${twice}: roles must alternate between "user" and "assistant"` : null;
};

/** What of a block is compared with what was said: blanks at a turn's end aren't. */
export const withoutMarks = (block: object): string => {
  const { cache_control: _, ...rest } = block as { readonly cache_control?: unknown; readonly text?: unknown };
  return canonical(toJson(typeof rest.text === "string" ? { ...rest, text: rest.text.trimEnd() } : rest));
};

const ends: Rule = ({ model, messages }, { paused }) => {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return null;
  const block = last.content.at(-1);
  if (block?.type === "text" && /\s$/.test(block.text))
    return "messages: final assistant content cannot end with trailing whitespace";
  if (traitsOf(model).noPrefill && !paused.has(digest(withoutMarks(block ?? {}))))
    return "This model does not support assistant message prefill. The conversation must end with a user message.";
  return null;
};

const thinkingEnds: Rule = ({ messages }) =>
  firstOf(messages, ({ role, content }, i) =>
    role === "assistant" && (content.at(-1)?.type ?? "").endsWith("thinking")
      ? `messages.${i}: The final block in an assistant message cannot be \`thinking\`.`
      : null,
  );

/** Of a model that thinks on a budget, while it goes on from calls: thinking stands before the last set of calls and results. */
const thinkingStarts: Rule = ({ messages, thinking }) => {
  const asked = messages.findLastIndex(
    ({ role, content }) => role === "user" && !content.some(({ type }) => type === "tool_result"),
  );
  const first = messages[asked + 1]?.content[0]?.type ?? "thinking";
  return thinking?.type !== "enabled" || first.endsWith("thinking")
    ? null
    : `messages.${asked + 1}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`;
};

const idsOf = (message: WireMessage | undefined): string[] =>
  (message?.content ?? []).flatMap((block) => (block.type === "tool_use" ? [block.id] : []));

const pairs: Rule = ({ messages }) => {
  const seen = new Set<string>();
  return firstOf(messages, (message, i) => {
    const twice = idsOf(message).find((id) => seen.has(id) || !seen.add(id));
    if (twice !== undefined) return `messages.${i}: \`tool_use\` ids must be unique`;
    if (message.role === "user") return unanswered(message, idsOf(messages[i - 1]), i);
    const open = idsOf(message);
    return open.length > 0 && messages[i + 1] === undefined ? missing(i, open) : null;
  });
};

const missing = (i: number, ids: readonly string[]): string =>
  `messages.${i}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;

function unanswered(message: WireMessage, uses: readonly string[], i: number): string | null {
  const kinds = message.content.map(({ type }) => type);
  const results = message.content.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []));
  const stray = results.find((id) => !uses.includes(id));
  if (stray !== undefined)
    return `messages.${i}.content: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
  if (new Set(results).size < results.length) return `messages.${i}: each tool_use must have a single result`;
  const open = uses.filter((id) => !results.includes(id));
  if (open.length > 0 || kinds.lastIndexOf("tool_result") >= results.length) return missing(i - 1, uses); // results come first
  return null;
}

const errors: Rule = (body) =>
  everyBlock(body, (block, place) => {
    if (block.type !== "tool_result" || block.is_error !== true) return null;
    const { content } = block;
    if (content === undefined || content.length === 0)
      return `${place}: content cannot be empty if \`is_error\` is true`;
    const onlyText = typeof content === "string" || content.every(({ type }) => type === "text");
    return onlyText ? null : `${place}: all content must be type "text" if \`is_error\` is true`;
  });

const serverTools: Rule = ({ messages, tools = [] }) => {
  const blocks = messages.flatMap(({ content }, i) =>
    content.map((block): { readonly block: WireBlock; readonly i: number } => ({ block, i })),
  );
  const answered = new Set(
    blocks.flatMap(({ block }) => (block.type === "web_search_tool_result" ? [block.tool_use_id] : [])),
  );
  const used = new Set<string>();
  return firstOf(blocks, ({ block, i }) => {
    if (block.type === "web_search_tool_result" && !used.has(block.tool_use_id))
      return `messages.${i}: unexpected \`tool_use_id\` found in \`web_search_tool_result\` blocks: ${block.tool_use_id}`;
    if (block.type !== "server_tool_use") return null;
    used.add(block.id);
    if (!tools.some(({ name }) => name === block.name))
      return `messages.${i}: but no \`${block.name}\` tool was provided`;
    if (answered.has(block.id)) return null;
    const next = messages[i + 1];
    const goesOn =
      next === undefined || (messages[i + 2] === undefined && next.content.every(({ type }) => type === "tool_result"));
    return goesOn
      ? null
      : `messages.${i}: \`${block.name}\` tool use with id \`${block.id}\` was found without a corresponding \`web_search_tool_result\` block`;
  });
};

const toolsPresent: Rule = (body) => {
  if (body.tools !== undefined) {
    const names = body.tools.map(({ name }) => name);
    if (new Set(names).size < names.length) return "tools: Tool names must be unique.";
    const choice = body.tool_choice;
    return choice?.type === "tool" && !names.includes(choice.name)
      ? `Tool '${choice.name}' not found in provided tools`
      : null;
  }
  if (body.tool_choice !== undefined) return "tool_choice may only be specified while providing tools.";
  return everyBlock(body, ({ type }) =>
    /tool/.test(type) ? "Requests which include `tool_use` or `tool_result` blocks must define tools" : null,
  );
};

const marks: Rule = (body) => {
  const found = JSON.stringify(body).match(/"cache_control":\{/g)?.length ?? 0;
  return found > 4 ? `A maximum of 4 blocks with cache_control may be provided. Found ${found}.` : null;
};

const IMAGE_CHARS = 10 * 1024 * 1024;
const STARTS: Readonly<Record<string, RegExp>> = {
  "image/png": /^\x89PNG/,
  "image/jpeg": /^\xff\xd8/,
  "image/gif": /^GIF8/,
  "image/webp": /^RIFF....WEBP/s,
};

const files: Rule = (body) =>
  everyBlock(body, (block, place) => {
    if (block.type !== "tool_result" || !Array.isArray(block.content)) return fileProblem(block, place);
    return firstOf(block.content, (inner, k) => fileProblem(inner, `${place}.content.${k}`));
  });

function fileProblem(block: WireBlock, place: string): string | null {
  if (block.type === "image") {
    const { media_type, data } = block.source;
    if (data.length > IMAGE_CHARS)
      return `${place}.image.source.base64: image exceeds 10 MB maximum: ${data.length} bytes > ${IMAGE_CHARS} bytes`;
    const start = Buffer.from(data.slice(0, 64), "base64").toString("latin1");
    return STARTS[media_type]?.test(start)
      ? null
      : `${place}.image.source.base64.data: The image was specified using the ${media_type} media type, but does not appear to be one`;
  }
  if (block.type !== "document") return null;
  const content = Buffer.from(block.source.data, "base64").toString("latin1");
  if (!content.slice(0, 1_024).includes("%PDF-"))
    return `${place}.pdf.source.base64.data: The PDF specified was not valid.`;
  if (content.includes("/Encrypt")) return `${place}.pdf.source.base64.data: The PDF specified is password protected.`;
  const pages = content.match(/\/Type\s*\/Page\b/g)?.length ?? 0;
  return pages > 600 ? "A maximum of 600 PDF pages may be provided." : null;
}

const settings: Rule = (body) => {
  const { model, thinking, tool_choice: choice, output_config: config } = body;
  const traits = traitsOf(model);
  if (thinking !== undefined && !traits.thinkingTypes.includes(thinking.type))
    return `"thinking.type.${thinking.type}" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`;
  const sampling = body.temperature ?? body.top_p ?? body.top_k;
  if (sampling !== undefined && traits.noSampling)
    return "`temperature`, `top_p` and `top_k` are not supported for this model.";
  if (body.temperature !== undefined && body.top_p !== undefined)
    return "`temperature` and `top_p` cannot both be specified for this model.";
  if (traits.noForcedTools && (choice?.type === "any" || choice?.type === "tool"))
    return `tool_choice.type "${choice.type}" is not supported for this model.`;
  if (thinking?.type === "enabled" && thinking.budget_tokens >= body.max_tokens)
    return "`max_tokens` must be greater than `thinking.budget_tokens`.";
  const thinks = thinking?.type === "enabled" || thinking?.type === "adaptive";
  if (thinks && (choice?.type === "any" || choice?.type === "tool"))
    return "Thinking may not be enabled when tool_choice forces tool use.";
  if (thinks && ((body.temperature ?? 1) !== 1 || body.top_k !== undefined || (body.top_p ?? 1) < 0.95))
    return "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.";
  if (body.stop_sequences?.some((text) => text.trim() === ""))
    return "stop_sequences: each stop sequence must contain non-whitespace";
  if (body.max_tokens > 128_000)
    return `max_tokens: ${body.max_tokens} > 128000, which is the maximum allowed number of output tokens for ${model}`;
  return config?.effort !== undefined && traits.version < 4.5
    ? "This model does not support the effort parameter."
    : null;
};

const thinkingBlocks: Rule = (body, known) => {
  const traits = traitsOf(body.model);
  return firstOf(body.messages, ({ content }, i) =>
    firstOf<WireBlock>(content, (block, j) => {
      if (block.type !== "thinking" && block.type !== "redacted_thinking") return null;
      const place = `messages.${i}.content.${j}`;
      const signed = readSignature(block.type === "thinking" ? block.signature : block.data);
      if (signed === null) return `${place}: Invalid \`signature\` in \`${block.type}\` block`;
      if (signed.model !== body.model) return null; // another model's is not looked at
      if (block.type === "thinking" && signed.said !== digest(block.thinking))
        return `${place}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`;
      if (!traits.bound || fits(body, [i, j], signed.prefix, known)) return null;
      return `${place}: Invalid \`signature\` in \`${block.type}\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`;
    }),
  );
};

/** Whether what stood before the answer that a block is of is what stands there now: the messages before, and of a turn that was paused what it had said. */
function fits(body: Body, [i, j]: readonly [number, number], prefix: string, { paused }: Known): boolean {
  const before = body.messages.slice(0, i);
  const own = body.messages[i]?.content ?? [];
  const beginnings = Array.from({ length: j + 1 }, (_, k) => k).filter(
    (k) => k === 0 || paused.has(digest(withoutMarks(own[k - 1] ?? {}))),
  );
  return beginnings.some((k) => {
    const said = k === 0 ? [] : [{ role: "assistant", content: own.slice(0, k) } as WireMessage];
    return prefixDigest(body, [...before, ...said]) === prefix;
  });
}

const RULES: readonly Rule[] = [
  wellFormed,
  turns,
  ends,
  thinkingEnds,
  thinkingStarts,
  pairs,
  errors,
  serverTools,
  toolsPresent,
  marks,
  files,
  settings,
  schemaRules,
  thinkingBlocks,
];
