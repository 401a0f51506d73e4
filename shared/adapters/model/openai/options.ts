// What a role may say under `options` for an openai/ model. It goes to the provider as it is, but for `api` and `background`, which are ours; here it is only
// looked at, before any money is spent. No SDK is loaded by this file.
import * as z from "zod";
import { describeIssues, issueWords } from "../../../core/issue-words.ts";
import type { Json, JsonObject } from "../../../core/json.ts";
import { type Family, familyOf } from "./families.ts";

export type Api = "chat" | "responses";

/** Which of the two interfaces is meant: what the role says; chat completions for a server under a base URL, Responses for OpenAI itself. */
export function apiOf(options: Json, baseURL: string | undefined): Api {
  const { api } = objectOf(options);
  if (api === "chat" || api === "responses") return api;
  return baseURL ? "chat" : "responses";
}

/** The answer is made at the provider, whoever listens, and can be fetched by another worker. */
export const isBackground = (options: Json): boolean => objectOf(options).background === true;

const text = z.string().min(1);
const effort = z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);
const verbosity = z.enum(["low", "medium", "high"]).optional();
const toolChoice = z.enum(["auto", "none", "required"]);
/** Of both interfaces. */
const both = {
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  parallel_tool_calls: z.boolean().optional(),
  service_tier: z.enum(["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"]).optional(),
  prompt_cache_key: text.optional(),
  prompt_cache_retention: z.enum(["in_memory", "24h"]).optional(),
  prompt_cache_options: z.looseObject({}).optional(),
  safety_identifier: text.max(128).optional(),
  metadata: z
    .record(z.string().max(64), z.string().max(512))
    .refine((pairs) => Object.keys(pairs).length <= 16, "must have 16 members at most")
    .optional(),
  user: text.optional(),
};

/** Tools that the provider runs itself. Those whose calls somebody has to answer are none of them. */
const hostedTool = z.looseObject({
  type: z
    .string()
    .regex(/^(web_search|file_search|code_interpreter)/, "must be web_search, file_search or code_interpreter"),
});

const responses = z.strictObject({
  api: z.literal("responses").optional(),
  background: z.boolean().optional(),
  background_options: z.looseObject({}).optional(),
  reasoning: z
    .strictObject({
      effort: effort.optional(),
      summary: z.enum(["auto", "concise", "detailed"]).optional(),
      context: z.enum(["auto", "current_turn", "all_turns"]).optional(),
      mode: text.optional(),
    })
    .optional(),
  text: z.strictObject({ verbosity }).optional(),
  tools: z.array(hostedTool).optional(),
  tool_choice: z
    .union([toolChoice, z.strictObject({ type: z.literal("function"), name: text }), z.looseObject({ type: text })])
    .optional(),
  max_tool_calls: z.int().positive().optional(),
  include: z.array(text).optional(),
  truncation: z.enum(["auto", "disabled"]).optional(),
  image: z.looseObject({}).optional(),
  ...both,
});

const chat = z.strictObject({
  api: z.literal("chat").optional(),
  reasoning_effort: effort.optional(),
  verbosity,
  frequency_penalty: z.number().min(-2).max(2).optional(),
  presence_penalty: z.number().min(-2).max(2).optional(),
  logit_bias: z.record(z.string(), z.number()).optional(),
  seed: z.int().optional(),
  stop: z.union([text, z.array(text).min(1).max(4)]).optional(),
  store: z.boolean().optional(),
  tool_choice: z
    .union([toolChoice, z.strictObject({ type: z.literal("function"), function: z.strictObject({ name: text }) })])
    .optional(),
  web_search_options: z.looseObject({}).optional(),
  ...both,
});

const notOurs = (what: string) => z.never(`is ${what}`).optional();
/** A server under a base URL may know anything else. */
const anyServer = z.looseObject({
  api: z.literal("chat").optional(),
  background: z.literal(false, "needs api: responses").optional(),
  model: notOurs("the role's model"),
  messages: notOurs("made from the log"),
  tools: notOurs("made from the role's tools"),
  stream: notOurs("decided here"),
  n: z.literal(1, "must be 1: one answer is asked for").optional(),
});

/**
 * Why `model` would refuse these options, as a sentence; null: nothing is known against them. `env` says how the provider is reached; left out, and where
 * the options don't say it themselves, they pass if they fit one of the ways.
 */
export function checkOpenAiOptions(
  model: string,
  options: Json,
  env?: Readonly<Record<string, string | undefined>>,
): string | null {
  const told = (problem: string | null): string | null =>
    problem === null ? null : `Options for openai/${model}: ${problem}.`;
  const { api } = objectOf(options);
  const ways: ((model: string, options: Json) => string | null)[] =
    env?.OPENAI_BASE_URL && api !== "responses"
      ? [ofAnyServer]
      : api === "chat"
        ? env === undefined
          ? [ofChat, ofAnyServer]
          : [ofChat]
        : env === undefined && api === undefined
          ? [ofResponses, ofAnyServer]
          : [ofResponses];
  const problems = ways.map((way) => way(model, options));
  return problems.includes(null) ? null : told(problems[0] ?? null);
}

function ofResponses(model: string, options: Json): string | null {
  const { max_tokens, max_output_tokens, reasoning_effort, verbosity: said } = objectOf(options);
  if (max_tokens !== undefined || max_output_tokens !== undefined) return "set the role's maxTokens instead";
  if (reasoning_effort !== undefined) return "reasoning_effort is of chat completions: say reasoning: { effort: … }";
  if (said !== undefined) return "verbosity is of chat completions: say text: { verbosity: … }";
  const parsed = responses.safeParse(options, { error: issueWords });
  if (!parsed.success) return describeIssues(parsed.error.issues, "the options");
  return familyProblem(familyOf(model), parsed.data, parsed.data.reasoning?.effort);
}

function ofChat(model: string, options: Json): string | null {
  const { max_tokens, max_completion_tokens, reasoning, background } = objectOf(options);
  if (max_tokens !== undefined || max_completion_tokens !== undefined) return "set the role's maxTokens instead";
  if (reasoning !== undefined) return "reasoning is of the Responses API: say reasoning_effort, or leave out api: chat";
  if (background !== undefined) return "background needs the Responses API: leave out api: chat";
  const parsed = chat.safeParse(options, { error: issueWords });
  if (!parsed.success) return describeIssues(parsed.error.issues, "the options");
  const family = familyOf(model);
  if (family?.responsesOnly) return "chat completions don't serve this model: leave out api: chat";
  return familyProblem(family, parsed.data, parsed.data.reasoning_effort);
}

function ofAnyServer(_: string, options: Json): string | null {
  const parsed = anyServer.safeParse(options, { error: issueWords });
  return parsed.success ? null : describeIssues(parsed.error.issues, "the options");
}

interface Sampling {
  readonly temperature?: number | undefined;
  readonly top_p?: number | undefined;
  readonly frequency_penalty?: number | undefined;
  readonly presence_penalty?: number | undefined;
  readonly logit_bias?: object | undefined;
  readonly stop?: string | readonly string[] | undefined;
}
const SAMPLING = ["temperature", "top_p", "frequency_penalty", "presence_penalty", "logit_bias"] as const;

function familyProblem(family: Family | null, said: Sampling, effortSaid: string | undefined): string | null {
  if (family === null) return null;
  const { efforts, sampling } = family;
  if (effortSaid !== undefined && efforts !== null && !efforts.includes(effortSaid))
    return efforts.length === 0
      ? "this model doesn't reason: leave out its effort"
      : `this model's effort is one of ${efforts.join(", ")}`;
  if (sampling === "never" && said.stop !== undefined) return "this model reasons, and takes no stop";
  const found = SAMPLING.find((name) => said[name] !== undefined);
  if (found === undefined) return null;
  const reasons =
    sampling === "never" ||
    (sampling === "withoutReasoning" && effortSaid !== undefined && effortSaid !== "none") ||
    (sampling === "withEffortNone" && effortSaid !== "none");
  if (!reasons) return null;
  return sampling === "never"
    ? `this model reasons, and doesn't take ${found}`
    : `this model takes ${found} only with an effort of none`;
}

export const objectOf = (value: Json | undefined): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
