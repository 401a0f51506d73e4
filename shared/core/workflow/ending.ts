// What a run's end says: the workflow's return value as JSON, or the error that it threw as one of our codes.
import { ERRORS, type ErrorCode, type ErrorInfo, messageOf, TorenError } from "../errors.ts";
import { canonical, type Json, NotJson, toJson } from "../json.ts";
import { ChildFailed, TaskFailed, TimedOut, WaveFailed } from "./context.ts";
import { withinPayload } from "./request.ts";

export type Ending =
  | { readonly type: "RunCompleted"; readonly output: Json }
  | { readonly type: "RunFailed"; readonly error: ErrorInfo };

export const failed = (code: ErrorCode, message: string): Ending => ({ type: "RunFailed", error: { code, message } });

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
