// defineWorkflow: a process's code, as workflows/<process>.ts exports it by default.
import * as z from "zod";
import { messageOf, TorenError } from "../core/errors.ts";
import { describeIssues, issueWords } from "../core/issue-words.ts";
import { type Json, toJson } from "../core/json.ts";
import type { WorkflowFn } from "../core/workflow/context.ts";

const WORKFLOW = Symbol.for("toren.workflow");

export type ParsedInput =
  | { readonly ok: true; readonly input: Json }
  | { readonly ok: false; readonly message: string };
type ParseInput = (input: Json) => ParsedInput;
export type BrandedWorkflow = WorkflowFn & { readonly [WORKFLOW]: ParseInput };

/**
 * A deterministic function that owns the control flow between tasks. It is run again from its start on every tick, so it may await only what `ctx` gives it.
 * Without `input` a run's input is a text; with it, what the schema makes of the input is `ctx.input`. With `{}` any JSON value is taken as it comes.
 * What a schema makes of the input is brought into JSON: a Date becomes a text.
 * @throws TorenError `agent.invalid` when what it is given isn't a function or a schema, or is a generator.
 */
export function defineWorkflow<I = string>(
  options: { readonly input?: z.ZodType<I> },
  fn: WorkflowFn<I>,
): WorkflowFn<I>;
export function defineWorkflow(fn: WorkflowFn): WorkflowFn;
export function defineWorkflow<I>(
  first: WorkflowFn | { readonly input?: z.ZodType<I> },
  second?: WorkflowFn<I>,
): WorkflowFn<I> {
  const fn = typeof first === "function" ? (first as unknown as WorkflowFn<I>) : second;
  const schema =
    typeof first === "function"
      ? z.string("must be a text (give defineWorkflow an input schema for anything else)")
      : first?.input;
  if (typeof fn !== "function")
    throw new TorenError("agent.invalid", "defineWorkflow takes an async function: defineWorkflow(async (ctx) => …)");
  if (GENERATORS.has(Object.prototype.toString.call(fn)))
    throw new TorenError(
      "agent.invalid",
      "defineWorkflow takes an async function, not a generator, whose body would never run: async (ctx) => …, and await where it yields",
    );
  if (schema !== undefined && !("_zod" in schema))
    throw new TorenError("agent.invalid", "defineWorkflow: input must be a schema of zod 4");
  const parse: ParseInput = schema === undefined ? (input) => ({ ok: true, input }) : (input) => parsed(schema, input);
  const workflow: WorkflowFn<I> = (ctx) => fn(ctx);
  return Object.freeze(Object.defineProperty(workflow, WORKFLOW, { value: parse }));
}

const GENERATORS: ReadonlySet<string> = new Set(["[object GeneratorFunction]", "[object AsyncGeneratorFunction]"]);

export const isWorkflow = (value: unknown): value is BrandedWorkflow =>
  typeof value === "function" && WORKFLOW in value;

export const inputParser = (workflow: BrandedWorkflow): ParseInput => workflow[WORKFLOW];

function parsed(schema: z.ZodType, input: Json): ParsedInput {
  try {
    const result = z.safeParse(schema, input, { error: issueWords });
    return result.success
      ? { ok: true, input: toJson(result.data) }
      : { ok: false, message: describeIssues(result.error.issues, "the input") };
  } catch (thrown) {
    return { ok: false, message: `the input could not be checked: ${messageOf(thrown)}` };
  }
}
