// Where a task's loop stands, and what stands open there.
import type { Effects, Idempotency } from "../events.ts";
import type { Json } from "../json.ts";
import type { ToolUsePart } from "../messages.ts";
import type { CallResult } from "./history.ts";

export interface Call {
  readonly use: ToolUsePart;
  /** Among the answer's calls, from 0. */
  readonly place: number;
  /** The answer ended at its token limit: the last call may be cut. */
  readonly cut: boolean;
  /** A person is asked before it runs; `key` binds the decision. */
  approval: { readonly key: string; readonly expiresAt: number | null } | null;
  started: { readonly idempotencyKey: string; readonly effects: Effects; readonly idempotency: Idempotency } | null;
  completed: CallResult | null;
}

export interface Decision {
  readonly granted: boolean;
  readonly by: string;
  readonly comment: string;
}

export type Verdict =
  | { readonly type: "complete"; readonly result: Json; readonly truncated: boolean }
  | {
      readonly type: "fail";
      readonly code: "model.refused" | "output_exhausted" | "model.paused_too_often";
      readonly message: string;
    };

/** Where the loop stands. */
export type Phase =
  | { readonly type: "ask" } //        the next thing is a model call
  | { readonly type: "tools"; readonly calls: Call[] } // the answer's calls run
  | { readonly type: "answered"; readonly verdict: Verdict }
  | { readonly type: "input" } //      a session waits for its user
  | { readonly type: "ended" };
