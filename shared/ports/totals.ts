// What metrics tell of an agent. Counts stand in its streams; they are added up as they grow, so that nobody who asks reads all streams there are.
import type { RunStatus } from "./store.ts";

/** Since the agent's schema was made, erased runs included. They never fall. */
export interface Figures {
  /** Runs that a worker has begun. */
  readonly started: number;
  /** Ends: a run that failed, was retried and completed counts in both. */
  readonly ended: Readonly<Record<"completed" | "failed" | "cancelled", number>>;
  /** Answers on record. */
  readonly modelCalls: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** Billionths of a US dollar, of streams whose prices are real, and of those with a made-up one. */
  readonly nanoUsd: number;
  readonly simulatedNanoUsd: number;
  /** Answers whose price isn't known. */
  readonly unpriced: number;
  /** Calls of models that failed. */
  readonly retries: number;
  readonly cuts: number;
  /** Recorded answers that a resumed task used again. */
  readonly replays: number;
  /** Runs that haven't ended, as they are now; at most FIGURES_MAX of each status are counted. */
  readonly live: ReadonlyMap<RunStatus, number>;
  /** For how long the work that waits longest has waited, in seconds; 0: nothing waits. */
  readonly oldestReadyS: number;
}

export interface Totals {
  /**
   * Adds what some streams have counted since they were last added, those first that have waited longest; returns how many these were. Safe beside others who
   * do the same. `takenMs`: only those that a worker took at least so long ago.
   */
  add(agent: string, limit: number, takenMs: number): Promise<number>;
  /** In one statement, whose cost has a bound whatever there is. */
  figures(agent: string): Promise<Figures>;
}
