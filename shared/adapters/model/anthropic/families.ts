// What each family of Claude models takes and refuses. From Anthropic's pages as of 2026-11-29; a model that isn't here is sent nothing by default, and its
// options are checked for their form alone.
//   thinking, effort  https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting, …/effort
//   sampling          https://platform.claude.com/docs/en/about-claude/models/migration-guide
//   forced tools      https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5, …/sonnet-5-5/migration-guide
//   bound thinking    https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
//   output schemas    https://platform.claude.com/docs/en/build-with-claude/structured-outputs
import { knownUnder } from "../names.ts";

export type ThinkingType = "adaptive" | "between_tools" | "disabled" | "enabled";
export type Effort = "low" | "medium" | "high" | "xhigh" | "max";

export interface Family {
  /** Values of `thinking.type` that aren't refused. */
  readonly thinking: readonly ThinkingType[];
  /** Thinks unless told otherwise, and then leaves its thinking's text out: it is asked for a summary, so that people see something. */
  readonly thinksUnasked: boolean;
  /** Takes its thinking back only while all that stood before it is unchanged. */
  readonly bound: boolean;
  /** Takes temperature, top_p and top_k. */
  readonly sampling: boolean;
  /** Takes a tool_choice that forces a call. */
  readonly forcedTools: boolean;
  readonly efforts: readonly Effort[];
  /** Can be held to a JSON Schema. */
  readonly schema: boolean;
}

const LOW_TO_HIGH = ["low", "medium", "high"] as const;
const ALL_EFFORTS = [...LOW_TO_HIGH, "xhigh", "max"] as const;

/** Of 2025: thinks on a budget, when asked. */
const OLDER: Family = {
  thinking: ["enabled", "disabled"],
  thinksUnasked: false,
  bound: false,
  sampling: true,
  forcedTools: true,
  efforts: [],
  schema: true,
};
/** Of early 2026: may think adaptively or on a budget. */
const BETWEEN: Family = {
  ...OLDER,
  thinking: ["adaptive", "enabled", "disabled"],
  efforts: [...LOW_TO_HIGH, "max"],
};
const ADAPTIVE: Family = {
  ...OLDER,
  thinking: ["adaptive", "disabled"],
  sampling: false,
  efforts: ALL_EFFORTS,
};
const THINKS: Family = { ...ADAPTIVE, thinksUnasked: true };
const ALWAYS_THINKS: Family = { ...THINKS, thinking: ["adaptive"] };
/** Since September 2026. Anthropic's page on output schemas that was at hand is older, so none are sent. */
const BOUND: Family = { ...ALWAYS_THINKS, bound: true, forcedTools: false, schema: false };

const FAMILIES: Readonly<Record<string, Family>> = {
  "claude-fable-5-2": BOUND,
  "claude-mythos-5-2": BOUND,
  "claude-fable-5-1": BOUND,
  "claude-mythos-5-1": BOUND,
  "claude-opus-5-5": BOUND,
  "claude-sonnet-5-5": { ...BOUND, thinking: ["adaptive", "between_tools"] },
  "claude-haiku-5-5": { ...BOUND, thinking: ["adaptive", "disabled"], forcedTools: true },
  "claude-fable-5": ALWAYS_THINKS,
  "claude-mythos-5": ALWAYS_THINKS,
  "claude-mythos-preview": { ...ALWAYS_THINKS, thinking: ["adaptive", "enabled"], efforts: [...LOW_TO_HIGH, "max"] },
  "claude-opus-5": THINKS,
  "claude-sonnet-5": THINKS,
  "claude-opus-4-8": ADAPTIVE,
  "claude-opus-4-7": ADAPTIVE,
  "claude-opus-4-6": BETWEEN,
  "claude-sonnet-4-6": BETWEEN,
  "claude-opus-4-5": { ...OLDER, efforts: LOW_TO_HIGH },
  "claude-sonnet-4-5": OLDER,
  "claude-haiku-4-5": OLDER,
  "claude-opus-4-1": { ...OLDER, schema: false },
  "claude-opus-4": { ...OLDER, schema: false },
  "claude-opus-4-0": { ...OLDER, schema: false },
  "claude-sonnet-4": { ...OLDER, schema: false },
  "claude-sonnet-4-0": { ...OLDER, schema: false },
};

/** Null: nothing is known of it. */
export const familyOf = (model: string): Family | null => knownUnder(FAMILIES, model);
