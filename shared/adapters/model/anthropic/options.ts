// What a role may say under `options` for an anthropic/ model. It goes to the provider as it is; here it is only looked at, before any money is spent.
// No SDK is loaded by this file.
import * as z from "zod";
import { describeIssues, issueWords } from "../../../core/issue-words.ts";
import type { Json } from "../../../core/json.ts";
import { type Family, familyOf } from "./families.ts";

const display = z.enum(["summarized", "omitted"]).optional();
const thinking = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("adaptive"), display }),
  z.strictObject({ type: z.literal("enabled"), budget_tokens: z.int().min(1_024), display }),
  z.strictObject({ type: z.literal("disabled") }),
  z.strictObject({ type: z.literal("between_tools") }),
]);
const parallel = { disable_parallel_tool_use: z.boolean().optional() };
const toolChoice = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("auto"), ...parallel }),
  z.strictObject({ type: z.literal("any"), ...parallel }),
  z.strictObject({ type: z.literal("tool"), name: z.string().min(1), ...parallel }),
  z.strictObject({ type: z.literal("none") }),
]);
/** Tools that the provider runs itself (web search, web fetch, code execution): their type carries a date. */
const serverTool = z.looseObject({
  type: z.string().regex(/_\d{8}$/, "must be a tool of Anthropic's, such as web_search_20250305"),
  name: z.string().min(1),
  cache_control: z.never("is set here: four marks are the most that a request may have").optional(),
});

const anthropicOptions = z.strictObject({
  thinking: thinking.optional(),
  output_config: z.strictObject({ effort: z.enum(["low", "medium", "high", "xhigh", "max"]).optional() }).optional(),
  temperature: z.number().min(0).max(1).optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.int().nonnegative().optional(),
  stop_sequences: z.array(z.string().regex(/\S/, "must have a character that isn't blank")).optional(),
  tool_choice: toolChoice.optional(),
  tools: z.array(serverTool).optional(),
  metadata: z.strictObject({ user_id: z.string().min(1) }).optional(),
  service_tier: z.enum(["auto", "standard_only"]).optional(),
  inference_geo: z.string().min(1).optional(),
});
export type AnthropicOptions = z.infer<typeof anthropicOptions>;

/** Why `model` would refuse these options, as a sentence; null: nothing is known against them. */
export function checkAnthropicOptions(model: string, options: Json): string | null {
  const parsed = anthropicOptions.safeParse(options, { error: issueWords });
  if (!parsed.success) return `Options for anthropic/${model}: ${describeIssues(parsed.error.issues, "the options")}.`;
  const family = familyOf(model);
  const problem = samplingProblem(parsed.data) ?? (family === null ? null : familyProblem(family, parsed.data));
  return problem === null ? null : `Options for anthropic/${model}: ${problem}.`;
}

/** What the role lets the model think at most, in tokens; null: no budget is set. Anthropic wants it to be less than the whole answer's limit. */
export function anthropicThinkingBudget(options: Json): number | null {
  const parsed = anthropicOptions.safeParse(options);
  const given = parsed.success ? parsed.data.thinking : undefined;
  return given?.type === "enabled" ? given.budget_tokens : null;
}

function samplingProblem({ temperature, top_p, top_k, tool_choice, thinking: given }: AnthropicOptions): string | null {
  if (temperature !== undefined && top_p !== undefined) return "it takes temperature or top_p, not both";
  if (given?.type !== "enabled" && given?.type !== "adaptive") return null;
  if (temperature !== undefined && temperature !== 1) return "with thinking it takes no temperature but 1";
  if (top_k !== undefined) return "with thinking it takes no top_k";
  if (top_p !== undefined && top_p < 0.95) return "with thinking it takes no top_p below 0.95";
  if (tool_choice?.type === "any" || tool_choice?.type === "tool")
    return `with thinking it takes no tool_choice of type "${tool_choice.type}"`;
  return null;
}

function familyProblem(family: Family, options: AnthropicOptions): string | null {
  const { thinking: given, output_config: config, tool_choice: choice } = options;
  if (given !== undefined && !family.thinking.includes(given.type))
    return `it refuses thinking of type "${given.type}"; it takes ${family.thinking.map((type) => `"${type}"`).join(", ")}`;
  if (!family.sampling && [options.temperature, options.top_p, options.top_k].some((value) => value !== undefined))
    return "it refuses temperature, top_p and top_k; say in the system prompt how it should answer";
  if (!family.forcedTools && (choice?.type === "any" || choice?.type === "tool"))
    return `it refuses a tool_choice of type "${choice.type}"; it takes "auto" and "none"`;
  const effort = config?.effort;
  if (effort === undefined) return null;
  if (family.efforts.length === 0) return "it knows no effort";
  if (!family.efforts.includes(effort)) return `it knows no effort "${effort}"; it takes ${family.efforts.join(", ")}`;
  if (family.thinksUnasked && given?.type === "disabled" && (effort === "xhigh" || effort === "max"))
    return `it can't leave out thinking at effort "${effort}"`;
  return null;
}
