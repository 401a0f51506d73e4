// What a model says while it says it, for whoever watches a run. Hints (I9): pieces may be lost, doubled or late, and none is ever recorded; the log has the
// whole answer when it is there. As long as nobody watches a run, none of this makes a round trip. Adapters: adapters/live.
import type { Delta } from "./model.ts";
import type { StreamRef } from "./store.ts";

export interface LivePiece {
  readonly stream: string;
  readonly stepId: string;
  /** The seq of the call's LlmCallStarted: a higher one is a later call, and what was said by an earlier one is void. */
  readonly call: number;
  /** Counts the call's beginnings from 0: what was said by an earlier one is void. */
  readonly attempt: number;
  readonly type: Delta["type"];
  /** Where `text` begins in all that was said in this attempt by this type, in UTF-16 units: what is there already may come again. */
  readonly at: number;
  readonly text: string;
}

/** One model call that may be watched. */
export interface LiveCall {
  /** Takes what came in. Must not throw, and doesn't wait. */
  show(delta: Delta): void;
  /** It is over: the log tells the rest. */
  end(): void;
}

/** A worker's side. */
export interface LiveOut {
  /** Somebody watches this run, as a lease has told. Forgotten after LIVE_WATCH_MS, unless told again. */
  heed(runId: string): void;
  isWatched(runId: string): boolean;
  /** The run's log has grown: whoever watches reads it now, not at its next look. Costs nothing while nobody does. Must not throw, and doesn't wait. */
  grew(runId: string): void;
  call(stream: StreamRef, step: { readonly stepId: string; readonly call: number }): LiveCall;
  /** Resolves when nothing is being sent: before a process may freeze. */
  rest(): Promise<void>;
  /** Nothing is sent any more. */
  close(): Promise<void>;
}

/** A reader's side. */
export interface LiveIn {
  /**
   * `on` hears the run's pieces until the answer is called: from their beginning where the worker hears of it at once, else from some moment on. `grew` hears
   * that there is more in its log.
   */
  watch(runId: string, on: (piece: LivePiece) => void, grew?: () => void): () => void;
  close(): Promise<void>;
}
