// What one advance of a workflow comes to: the session makes it, the scheduler hands it to the tick.
import type { ErrorInfo } from "../errors.ts";
import type { Json } from "../json.ts";
import type { Decision } from "./decide.ts";
import type { StepRequest } from "./request.ts";

export interface PendingOperation {
  readonly seq: number;
  readonly type: "wave" | "step" | "timer" | "signal" | "child";
  /** When a timer, or a time-out, is due, in milliseconds since 1970; null: never. */
  readonly dueAt: number | null;
}

/** A step to be run now, or at `retryAt`. */
export interface StepCall extends Omit<StepRequest, "type"> {
  readonly seq: number;
  readonly idempotencyKey: string;
  /** Tries that failed so far. */
  readonly failures: number;
  readonly retryAt: number | null;
}

/** An operation that a workflow failed by: what a retry does again. */
export interface Culprit {
  readonly seq: number;
  /** As the code says it today; undefined: it has no time limit. */
  readonly timeoutMs: number | undefined;
}

export type Outcome =
  /** Both lists in the order of seqs. Ask `foreign` after the append and before parking: true is to end the run with FOREIGN_AWAIT. */
  | {
      readonly type: "blocked";
      readonly pending: readonly PendingOperation[];
      readonly steps: readonly StepCall[];
      foreign(): boolean;
    }
  /** The last decision is RunCompleted. */
  | { readonly type: "completed"; readonly output: Json }
  /** The last decision is RunFailed. `culprit`: the operation whose failure it was, if it was one's. */
  | { readonly type: "failed"; readonly error: ErrorInfo; readonly culprit: Culprit | null }
  /** The last decision is RunContinued. */
  | { readonly type: "continued" }
  /** From `fromSeq` on the log contradicts the code. Nothing is decided: cut, fold, advance again. */
  | { readonly type: "cut"; readonly fromSeq: number; readonly reason: string };

export interface Advance {
  readonly decisions: readonly Decision[];
  readonly outcome: Outcome;
}
