// What a run's end says: the workflow's return value as JSON, or the error that it threw as one of our codes.
import { ERRORS, type ErrorCode, type ErrorInfo, messageOf, TorenError } from "../errors.ts";
import { canonical, type Json, NotJson, toJson } from "../json.ts";
import { ChildFailed, TaskFailed, TimedOut, WaveFailed } from "./context.ts";
import { withinPayload } from "./request.ts";

export type Ending =
  | { readonly type: "RunCompleted"; readonly output: Json }
  | { readonly type: "RunFailed"; readonly error: ErrorInfo };
/** How a workflow ends: its run with it, or to go on anew. */
export type Leave = Ending | { readonly type: "RunContinued"; readonly input: Json };

export const failed = (code: ErrorCode, message: string): Extract<Ending, { type: "RunFailed" }> => ({
  type: "RunFailed",
  error: { code, message },
});

/**
 * A workflow ends once. Whoever calls ctx.continueAsNew without waiting for it, and returns nothing, meant to go on; what was thrown is never lost for it; two
 * ways to go on are a mistake that nobody may decide for its author.
 */
export function firstOf(before: Leave | undefined, next: Leave): Leave {
  if (before === undefined) return next;
  if (before.type !== "RunContinued" && next.type !== "RunContinued") return before;
  const other = before.type === "RunContinued" ? next : before;
  if (other.type === "RunFailed") return other;
  if (other.type === "RunCompleted" && other.output === null) return before === other ? next : before;
  const twice =
    other.type === "RunCompleted" ? "called ctx.continueAsNew, and returned a value" : "called ctx.continueAsNew twice";
  return failed(
    "workflow.ended_twice",
    `the workflow ${twice}: a workflow ends once; \`return ctx.continueAsNew(input)\` is its last word`,
  );
}

/** The end of a workflow that awaits something that isn't ctx: a replay couldn't give it the same answer. */
export const FOREIGN_AWAIT: ErrorInfo = {
  code: "workflow.foreign_await",
  message: "the workflow awaits something that isn't ctx (a timer, a request, a file); do such work in ctx.step",
};

/** The value as it is now: what the author changes afterwards isn't seen. */
export function endingOf(returned: unknown): Ending {
  try {
    const output = toJson(returned);
    withinPayload(canonical(output), "what the workflow returned");
    return { type: "RunCompleted", output };
  } catch (e) {
    if (e instanceof NotJson)
      return failed("workflow.not_json", `what the workflow returned is not JSON: ${e.message}`);
    return { type: "RunFailed", error: errorOf(e) };
  }
}

export function errorOf(thrown: unknown): ErrorInfo {
  return { code: codeOf(thrown), message: messageOf(thrown) };
}

function codeOf(thrown: unknown): ErrorCode {
  if (thrown instanceof WaveFailed) return "wave.failed";
  if (thrown instanceof TimedOut) return "step.timeout";
  if (thrown instanceof TorenError || thrown instanceof TaskFailed || thrown instanceof ChildFailed)
    return isCode(thrown.code) ? thrown.code : "workflow.threw";
  return "workflow.threw";
}

const isCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code);
