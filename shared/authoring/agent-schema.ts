// The schema of agent.yaml in this version, and what it means with the file's defaults applied.
import * as z from "zod";
import { type Json, toJson } from "../core/json.ts";
import { COST_CAP_MAX_USD, PARALLEL_MAX } from "../core/limits.ts";
import { durationMs } from "../core/time.ts";
import type { RunMode } from "../ports/agents.ts";
import type { YamlPath } from "./yaml-lines.ts";

/** Names of agents, roles and processes. */
export const NAME = /^[a-z][a-z0-9_]{0,40}$/;
export const NAME_RULE = "lower-case letters, digits and _, a letter first, at most 41 characters";
/** The role of an agent that has its role's keys at the top level. */
export const ONLY_ROLE = "main";
export const MAIN_PROCESS = "main";

const json = z.custom<Json>().transform((value, ctx) => {
  try {
    return toJson(value);
  } catch (thrown) {
    ctx.addIssue({ code: "custom", message: thrown instanceof Error ? thrown.message : String(thrown) });
    return z.NEVER;
  }
});
const text = z.string().trim().min(1, "is empty");
const count = z.int().positive();
const places = count.max(PARALLEL_MAX);
const usdPerMillion = z.number().nonnegative();
/** A model by its whole name. */
export const MODEL_NAME = /^[a-z][a-z0-9_-]*\/\S+$/;
export const MODEL_NAME_RULE = 'must be "provider/name", as in "openai/gpt-5-mini"';
const model = z.string().regex(MODEL_NAME, MODEL_NAME_RULE);
const mode = z.enum(["task", "session"]);
const duration = z.string().transform((text, ctx) => {
  const ms = durationMs(text);
  if (ms !== null) return ms;
  ctx.addIssue({ code: "custom", message: "must be a length of time, such as 90s, 15m, 24h or 7d" });
  return z.NEVER;
});
const promptFile = z
  .string()
  .regex(
    /^(?![\\/])(?!.*(?:^|[\\/])\.\.(?:[\\/]|$))[^\\]+$/,
    "must be a path inside the agent's folder, as in prompts/writer.md",
  );

const roleShape = {
  system: z.union([z.string(), z.strictObject({ file: promptFile })], {
    error: (issue) =>
      issue.input === undefined
        ? "is missing: write the prompt, or { file: prompts/<name>.md }"
        : "must be a text or { file: prompts/<name>.md }",
  }),
  model: model.optional(),
  tools: z.array(z.string()).optional(),
  outputSchema: json.optional(),
  options: z.record(z.string(), json).optional(),
  maxTokens: count.optional(),
  maxSteps: count.optional(),
  totalTokens: count.optional(),
  maxCostUsd: z.number().positive().optional(),
  contextWindow: count.optional(),
  onUnknownOutcome: z.enum(["retry", "fail", "ask"]).optional(),
  approvalTimeout: duration.optional(),
  runtime: z.enum(["short", "long"]).optional(),
  isolate: z.boolean().optional(),
};
const roleYaml = z.strictObject(roleShape);
export const ROLE_KEYS: readonly string[] = Object.keys(roleShape);

const modelYaml = z.strictObject({
  maxInFlight: places.optional(),
  tokensPerMinute: count.optional(),
  contextWindow: count.optional(),
  maxOutput: count.optional(),
  price: z
    .strictObject({
      input: usdPerMillion,
      output: usdPerMillion,
      cacheRead: usdPerMillion.optional(),
      cacheWrite: usdPerMillion.optional(),
    })
    .optional(),
});
const limitsYaml = z.strictObject({
  maxParallel: places.optional(),
  maxCostUsd: z.number().positive().max(COST_CAP_MAX_USD).optional(),
  totalTokens: count.optional(),
});
export const MODEL_KEYS: readonly string[] = Object.keys(modelYaml.shape);
export const PRICE_KEYS: readonly string[] = ["input", "output", "cacheRead", "cacheWrite"];
export const LIMITS_KEYS: readonly string[] = Object.keys(limitsYaml.shape);

export const agentYaml = z.strictObject({
  name: z.string().regex(NAME, `must be ${NAME_RULE}`),
  description: text,
  env: z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of an environment variable")).optional(),
  defaults: z.strictObject({ model: model.optional(), maxTokens: count.optional() }).optional(),
  roles: z.record(z.string(), roleYaml).optional(),
  processes: z.record(z.string(), z.strictObject({ role: z.string(), mode: mode.optional() })).optional(),
  mode: mode.optional(),
  models: z.record(z.string(), modelYaml).optional(),
  limits: limitsYaml.optional(),
  retention: duration.optional(),
  ...z.object(roleShape).partial().shape,
});

export type RoleYaml = z.infer<typeof roleYaml>;
export type AgentYaml = z.infer<typeof agentYaml>;
export type ModelYaml = z.infer<typeof modelYaml>;
export type LimitsYaml = z.infer<typeof limitsYaml>;
export type SystemPrompt = { readonly text: string } | { readonly file: string };

export interface RoleConfig extends Omit<RoleYaml, "system"> {
  readonly name: string;
  readonly system: SystemPrompt;
  /** Where its keys stand in the file. */
  readonly path: YamlPath;
}

/** What agent.yaml says, defaults of the file applied. */
export interface AgentConfig {
  readonly name: string;
  readonly description: string;
  readonly env: readonly string[];
  readonly roles: readonly RoleConfig[];
  /** Of the only role, when no process is named. */
  readonly mode: RunMode;
  readonly processes: readonly { readonly name: string; readonly role: string; readonly mode: RunMode }[];
  /** By their whole names. */
  readonly models: Readonly<Record<string, ModelYaml>>;
  readonly limits: LimitsYaml;
  /** Milliseconds that its runs are kept after their end; left out: for ever. */
  readonly retention?: number;
}
