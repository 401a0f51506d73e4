// defineTool: what an author writes about a tool, checked when it is written, not when a model first calls it.
import * as z from "zod";
import { $ZodAsyncError } from "zod/v4/core"; // z.core as a value would bring all of zod into a bundle, its languages too
import { messageOf, TorenError } from "../core/errors.ts";
import { type Effects, effects, type Idempotency, idempotency } from "../core/events.ts";
import { describeIssues, issueWords } from "../core/issue-words.ts";
import type { Json } from "../core/json.ts";
import { TOOL_ATTEMPTS_MAX, TOOL_BACKOFF_MAX_MS, TOOL_TIMEOUT_MAX_MS, TOOL_TIMEOUT_MS } from "../core/limits.ts";
import type { ToolParts } from "../core/tool-parts.ts";
import type { ToolContext, ToolDefinition } from "../ports/agents.ts";
import { inputSchemaOf } from "./input-schema.ts";

/** By the global registry of symbols: two copies of this module (an agent's and the runtime's) agree. */
const TOOL = Symbol.for("toren.tool");

export const NAME_OF_TOOL = /^[a-zA-Z0-9_-]{1,64}$/;

/** What a handler returns: any JSON value, or `toolParts`. A text reaches the model as it is, every other value as JSON text. */
export type ToolOutput = Json | ToolParts;
export type ToolCtx = ToolContext;

export interface ToolOptions<S extends z.ZodObject> {
  /** As the model sees it: letters, digits, `_`, `-`, at most 64. Default: the name under which tools.ts exports it. */
  readonly name?: string;
  /** Tells the model what the tool is for and when to use it. */
  readonly description: string;
  /** The arguments, `z.object({…})` of zod 4. Everything in it must be sayable in JSON Schema; transforms see their input's type. */
  readonly input: S;
  /** `external`: changes something outside; `sandbox`: only inside the run's sandbox; `none`: only reads. */
  readonly effects: Effects;
  /** `keyed`: the handler gives `ctx.idempotencyKey` to whoever does the work, so a repeat is harmless; `none`: a repeat is a second effect. */
  readonly idempotency: Idempotency;
  /**
   * Whether a person must allow the call before it runs: `toren jobs approve`, or POST /runs/:id/approvals. A function sees the checked arguments and is
   * asked once a call; one that throws has a person asked.
   */
  readonly approval: "never" | "always" | ((args: z.output<S>) => boolean);
  /** Default 300,000 (five minutes). Past it the call is an error result, and `ctx.signal` is aborted. */
  readonly timeoutMs?: number;
  /** Tries in all of a handler that threw or timed out, within one call; the pause doubles each time. Default `{ attempts: 1, backoffMs: 0 }`: no second one. */
  readonly retry?: { readonly attempts: number; readonly backoffMs: number };
  /** Does the work. What it throws becomes an error result for the model. */
  handler(args: z.output<S>, ctx: ToolCtx): ToolOutput | Promise<ToolOutput>;
}

type Draft = Omit<ToolDefinition, "name"> & { readonly name: string | null };

/** A tool as tools.ts exports it. */
export interface Tool {
  readonly [TOOL]: Draft;
}

/**
 * A tool that a role can be given by its name in agent.yaml.
 * @throws TorenError `agent.invalid` when the definition is wrong or its input can't be said in JSON Schema.
 */
export function defineTool<S extends z.ZodObject>(options: ToolOptions<S>): Tool {
  const who = nameForErrors(options);
  const checked = z.safeParse(optionsSchema, options, { error: issueWords });
  if (!checked.success)
    throw new TorenError("agent.invalid", `${who}: ${describeIssues(checked.error.issues, "the definition")}`);
  const schema = inputSchemaOf(options.input);
  if (!schema.ok) throw new TorenError("agent.invalid", `${who}: ${schema.problems.join("; ")}`);
  const { name, description, timeoutMs, retry } = checked.data;
  const draft: Draft = {
    name: name ?? null,
    description,
    inputSchema: schema.schema,
    effects: options.effects,
    idempotency: options.idempotency,
    timeoutMs: timeoutMs ?? TOOL_TIMEOUT_MS,
    retry: retry ?? { attempts: 1, backoffMs: 0 },
    approval: gate(options.approval),
    parse: parserOf(options.input),
    handler: (args, ctx) => options.handler(args as z.output<S>, ctx),
  };
  return Object.freeze({ [TOOL]: Object.freeze(draft) });
}

const gate = <S extends z.ZodObject>(approval: ToolOptions<S>["approval"]): Draft["approval"] => {
  if (typeof approval === "function") return (args) => approval(args as z.output<S>) === true;
  return () => approval === "always";
};

export const isTool = (value: unknown): value is Tool => typeof value === "object" && value !== null && TOOL in value;

/** The name that the author gave, if any. */
export const ownName = (tool: Tool): string | null => tool[TOOL].name;

export const toolDefinition = (tool: Tool, name: string): ToolDefinition => ({ ...tool[TOOL], name });

const optionsSchema = z.strictObject({
  name: z.string().regex(NAME_OF_TOOL).optional(),
  description: z.string().trim().min(1),
  input: z.custom((value) => typeof value === "object" && value !== null, "must be z.object({…})"),
  effects,
  idempotency,
  approval: z.custom(
    (value) => value === "never" || value === "always" || typeof value === "function",
    'must be "never", "always" or a function of the arguments',
  ),
  timeoutMs: z.int().positive().max(TOOL_TIMEOUT_MAX_MS).optional(),
  retry: z
    .strictObject({
      attempts: z.int().positive().max(TOOL_ATTEMPTS_MAX),
      backoffMs: z.int().nonnegative().max(TOOL_BACKOFF_MAX_MS),
    })
    .optional(),
  handler: z.custom((value) => typeof value === "function", "must be a function"),
});

/** Before the loader has given a name, the description says which tool is meant. */
function nameForErrors(options: { readonly name?: unknown; readonly description?: unknown } | undefined): string {
  const label = options?.name ?? options?.description;
  return typeof label === "string" && label !== "" ? `tool "${label}"` : "a tool without name and description";
}

function parserOf(input: z.ZodObject): ToolDefinition["parse"] {
  return (args) => {
    try {
      const parsed = z.safeParse(input, args, { error: issueWords });
      return parsed.success
        ? { ok: true, args: parsed.data }
        : { ok: false, message: describeIssues(parsed.error.issues, "the arguments") };
    } catch (thrown) {
      // A transform or check of the author's that threw, or is asynchronous, which zod says by throwing.
      const asynchronous = thrown instanceof $ZodAsyncError;
      return {
        ok: false,
        message: `the arguments could not be checked: ${asynchronous ? "the tool's schema has an asynchronous check" : messageOf(thrown)}`,
      };
    }
  };
}
