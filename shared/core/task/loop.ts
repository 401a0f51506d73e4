// What a task does next: a pure decision on its state. The engine carries it out and records what came of it (engine/run-task.ts).
import type { ErrorInfo } from "../errors.ts";
import { type Json, utf8Bytes } from "../json.ts";
import type { ModelRequest } from "../messages.ts";
import { requestOf } from "./header.ts";
import { textOf } from "./history.ts";
import type { Call, Verdict } from "./phase.ts";
import { requestDigest, spentTokens, stepIdOf, type TaskState } from "./state.ts";

export interface Caps {
  readonly maxSteps: number;
  /** Over all calls of the task; null: none. */
  readonly totalTokens: number | null;
}

export type Action =
  | { readonly type: "ask"; readonly stepId: string; readonly digest: string; readonly request: ModelRequest }
  | { readonly type: "tools"; readonly stepId: string; readonly calls: readonly Call[] }
  /** A session's turn is over: its answer is for a person. */
  | { readonly type: "show"; readonly text: string }
  /** A session waits for its user. */
  | { readonly type: "wait" }
  | { readonly type: "complete"; readonly result: Json; readonly truncated: boolean }
  | { readonly type: "fail"; readonly error: ErrorInfo }
  | { readonly type: "ended" };

export function nextAction(state: TaskState, caps: Caps): Action {
  const { phase } = state;
  switch (phase.type) {
    case "ended":
      return { type: "ended" };
    case "answered":
      return answered(state, phase.verdict);
    case "input": {
      const { session } = state;
      return session?.closing ? { type: "complete", result: session.shown, truncated: false } : { type: "wait" };
    }
    case "tools": // its step is the one that was answered
      return { type: "tools", stepId: `s${state.steps - 1}`, calls: phase.calls.filter((c) => c.completed === null) };
    case "ask":
      return (
        capReached(state, caps) ?? {
          type: "ask",
          stepId: stepIdOf(state),
          digest: requestDigest(state),
          request: requestOf(state.header, state.history),
        }
      );
  }
}

/** A session shows its answer and goes on, until it was closed and nothing more was said to it. What it refuses is an answer too. */
function answered({ session }: TaskState, verdict: Verdict): Action {
  if (session !== null && verdict.type === "fail" && verdict.code === "model.refused")
    return { type: "show", text: verdict.message };
  if (verdict.type === "fail") return { type: "fail", error: { code: verdict.code, message: verdict.message } };
  const { result, truncated } = verdict;
  const over = session === null || (session.closing && session.mail.length + session.steering.length === 0);
  return over ? { type: "complete", result, truncated } : { type: "show", text: textOf(result) };
}

function capReached(state: TaskState, caps: Caps): Action | null {
  if (state.turnSteps >= caps.maxSteps) {
    return {
      type: "fail",
      error: {
        code: "max_steps",
        message: `No final answer after ${state.turnSteps} model calls, the role's maxSteps.`,
      },
    };
  }
  if (caps.totalTokens === null) return null;
  const spent = spentTokens(state);
  const asks = estimateTokens(state) + state.header.maxTokens;
  if (spent + asks <= caps.totalTokens) return null;
  const message = `${spent} tokens are spent, and the next call may take ${asks}: more than the role's totalTokens of ${caps.totalTokens}.`;
  return { type: "fail", error: { code: "budget_exhausted", message } };
}

/** A request's input tokens, estimated high: three bytes of UTF-8 a token. Only run where a cap asks for it. */
function estimateTokens(state: TaskState): number {
  return Math.ceil(
    utf8Bytes(state.header.system + JSON.stringify(state.header.tools) + JSON.stringify(state.history.messages)) / 3,
  );
}
