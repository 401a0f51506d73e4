// A role's `options` for bedrock/: members of Converse's request, named as there, checked before anything is sent. No SDK in here: agents are checked
// where no model is asked. What the models behind Bedrock are known to refuse is refused here, with the reason; what isn't known passes.
import * as z from "zod";
import { describeIssues, issueWords } from "../../../core/issue-words.ts";
import { isObject, type Json, type JsonObject } from "../../../core/json.ts";
import { familyOf } from "../anthropic/families.ts";
import { baseId, traitsOf } from "./traits.ts";

const object = z.custom<JsonObject>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  "must be an object",
);

const schema = z.strictObject({
  inferenceConfig: z
    .strictObject({
      temperature: z.number().min(0).max(1).optional(),
      topP: z.number().min(0).max(1).optional(),
      stopSequences: z.array(z.string().min(1)).max(2_500).optional(),
    })
    .optional(),
  additionalModelRequestFields: object.optional(),
  performanceConfig: z.strictObject({ latency: z.enum(["standard", "optimized"]) }).optional(),
  guardrailConfig: z
    .strictObject({
      guardrailIdentifier: z.string().min(1),
      guardrailVersion: z.string().min(1),
      trace: z.enum(["enabled", "disabled", "enabled_full"]).optional(),
      streamProcessingMode: z.enum(["sync", "async"]).optional(),
    })
    .optional(),
  serviceTier: z.strictObject({ type: z.enum(["default", "priority", "flex", "reserved"]) }).optional(),
  requestMetadata: z
    .record(z.string().min(1).max(256), z.string().max(256))
    .refine((pairs) => Object.keys(pairs).length <= 16, "must have 16 members at most")
    .optional(),
  outputConfig: z.strictObject({ effort: z.enum(["low", "medium", "high", "xhigh", "max"]) }).optional(),
  /** The id of the model that an ARN stands for, where it doesn't say: what the model takes follows from it. Not sent. */
  foundationModel: z.string().min(1).optional(),
});
export type BedrockOptions = z.infer<typeof schema>;

export type ReadOptions =
  | { readonly ok: true; readonly options: BedrockOptions }
  | { readonly ok: false; readonly problem: string };

/** `model` without `bedrock/`. */
export function readBedrockOptions(model: string, options: Json): ReadOptions {
  const parsed = schema.safeParse(options, { error: issueWords });
  if (!parsed.success) {
    const { inferenceConfig } = (options ?? {}) as { readonly inferenceConfig?: JsonObject };
    if (inferenceConfig?.maxTokens !== undefined)
      return { ok: false, problem: "inferenceConfig.maxTokens: set the role's maxTokens instead" };
    return { ok: false, problem: describeIssues(parsed.error.issues, "options") };
  }
  const problem = familyProblem(parsed.data.foundationModel ?? model, parsed.data);
  return problem === null ? { ok: true, options: parsed.data } : { ok: false, problem };
}

export const optionsRefused = (model: string, problem: string): string => `Options for bedrock/${model}: ${problem}.`;

/** What is wrong with a role's options for `model` (without `bedrock/`), as a sentence; null: nothing. */
export function checkBedrockOptions(model: string, options: Json): string | null {
  const read = readBedrockOptions(model, options);
  return read.ok ? null : optionsRefused(model, read.problem);
}

function familyProblem(model: string, options: BedrockOptions): string | null {
  const traits = traitsOf(model);
  if (traits.family === "claude") return claudeProblem(model, traits.version, options);
  if (traits.family === "nova") return novaProblem(traits.version, options);
  return null;
}

const thinking = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("enabled"),
    budget_tokens: z.int().min(1_024),
    display: z.enum(["summarized", "omitted"]).optional(),
  }),
  z.strictObject({ type: z.literal("adaptive"), display: z.enum(["summarized", "omitted"]).optional() }),
  z.strictObject({ type: z.literal("disabled") }),
  z.strictObject({ type: z.literal("between_tools") }),
]);

function claudeProblem(model: string, version: number, options: BedrockOptions): string | null {
  const known = familyOf(baseId(model).replace(/^anthropic\./, "")); // the same models, wherever they are served
  const effort = options.outputConfig?.effort;
  if (known !== null && effort !== undefined && !known.efforts.includes(effort))
    return known.efforts.length === 0
      ? "outputConfig.effort: this model knows no effort"
      : `outputConfig.effort: this model takes ${known.efforts.join(", ")}`;
  const { inferenceConfig: { temperature, topP } = {}, additionalModelRequestFields: more = {} } = options;
  const sampling = [temperature, topP, more.top_k].filter((value) => value !== undefined).length;
  if (version >= 407 && sampling > 0) return "inferenceConfig: this model takes no temperature, topP or top_k";
  if (version >= 401 && temperature !== undefined && topP !== undefined)
    return "inferenceConfig: this model takes temperature or topP, not both";
  if (more.thinking === undefined) return null;
  const parsed = thinking.safeParse(more.thinking, { error: issueWords });
  if (!parsed.success)
    return describeIssues(
      parsed.error.issues.map((issue) => ({
        ...issue,
        path: ["additionalModelRequestFields", "thinking", ...issue.path],
      })),
      "options",
    );
  const { type } = parsed.data;
  const where = "additionalModelRequestFields.thinking";
  if (type === "enabled" && version >= 407) return `${where}: this model takes no budget: say {type: adaptive}`;
  if (version === 0) return null;
  if (type === "enabled" && version < 307) return `${where}: this model doesn't think`;
  if (type === "adaptive" && version < 406) return `${where}: this model wants {type: enabled, budget_tokens: …}`;
  if (known !== null && !known.thinking.includes(type))
    return `${where}: this model takes ${known.thinking.map((one) => `"${one}"`).join(", ")}, not "${type}"`;
  if (type !== "disabled" && ((temperature ?? 1) !== 1 || more.top_k !== undefined))
    return `${where}: a model that thinks takes no temperature and no top_k`;
  return null;
}

/** What the role lets Claude think at most, in tokens; null: no budget is set. It must be less than the whole answer's limit. */
export function bedrockThinkingBudget(options: Json): number | null {
  const fields = isObject(options) ? options.additionalModelRequestFields : undefined;
  const given = isObject(fields) ? fields.thinking : undefined;
  return isObject(given) && given.type === "enabled" && typeof given.budget_tokens === "number"
    ? given.budget_tokens
    : null;
}

const reasoningConfig = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("enabled"), maxReasoningEffort: z.enum(["low", "medium", "high"]) }),
  z.strictObject({ type: z.literal("disabled") }),
]);

function novaProblem(version: number, options: BedrockOptions): string | null {
  const { inferenceConfig: { temperature, topP } = {}, additionalModelRequestFields: more = {} } = options;
  if (more.reasoningConfig === undefined) return null;
  const where = "additionalModelRequestFields.reasoningConfig";
  const parsed = reasoningConfig.safeParse(more.reasoningConfig, { error: issueWords });
  if (!parsed.success) return `${where}: ${describeIssues(parsed.error.issues, "it")}`;
  if (parsed.data.type === "disabled") return null;
  if (version < 200) return `${where}: this model doesn't reason; Nova 2 does`;
  if (thinksHard(options) && (temperature ?? topP) !== undefined)
    return `${where}: with high effort this model takes neither temperature nor topP`;
  return null;
}

/** Nova's high effort sets its own limit of tokens, and refuses one. */
export function thinksHard({ additionalModelRequestFields: more = {} }: BedrockOptions): boolean {
  const config = more.reasoningConfig as JsonObject | undefined;
  return config?.type === "enabled" && config.maxReasoningEffort === "high";
}
