// What Bedrock refuses beyond the form of a request: the order of turns, results without calls, tools that aren't defined; and, by family-rules.ts, what each
// family of models doesn't take.
import { hasLoneSurrogate } from "../body.ts";
import { type Asked, familyOf, firstOf, type Rule } from "./asked.ts";
import { FAMILY_RULES } from "./family-rules.ts";
import { blocksOf, type WireMessage } from "./shape.ts";

/** The text of the ValidationException; null: it is taken. */
export function refusal(asked: Asked): string | null {
  for (const rule of RULES) {
    const found = rule(asked, familyOf(asked.modelId));
    if (found !== null) return found;
  }
  return null;
}

const wellFormed: Rule = ({ body }) =>
  hasLoneSurrogate(body) ? "The request body is not valid JSON: no low surrogate in string" : null;

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

const RULES: readonly Rule[] = [wellFormed, alternation, ownBlocks, pairing, toolConfig, ...FAMILY_RULES];
