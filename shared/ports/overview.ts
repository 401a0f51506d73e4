// What people look at first: how many runs are in which state, who waits for them, what doesn't go on, what today cost. Reads alone, of one agent at a time.
import type { Price } from "../core/cost.ts";
import type { RunEvent } from "../core/events.ts";
import type { PendingApproval, RunStatus } from "./store.ts";

type CutRequested = Required<Extract<RunEvent, { type: "CutRequested" }>>;
/** A cut that waits for a person's decision (I6b). */
export interface WaitingCut {
  readonly stream: string;
  /** What was edited. */
  readonly reason: string;
  /** What would be done again, as `taskId: tool` in the run's own stream. */
  readonly calls: readonly string[];
  /** Of the recorded answers that would be asked for anew; in the run's own stream at most, since later plans may take tasks over. */
  readonly price: Price;
  /** Of the run's own stream: what would be planned, and which recorded tasks would answer for it under `keep`. */
  readonly instead: NonNullable<CutRequested["instead"]> | null;
  readonly requestedAt: number;
}

export interface RunWaiting {
  readonly runId: string;
  readonly process: string;
  readonly status: RunStatus;
  readonly createdAt: number;
  /** Undecided ones. */
  readonly approvals: readonly (PendingApproval & {
    /** Its arguments are too large to be read along: `args` is null. */
    readonly large: boolean;
  })[];
  readonly cuts: readonly WaitingCut[];
}

/** A stream that should be worked on, and isn't. */
export interface StuckStream {
  readonly runId: string;
  readonly process: string;
  readonly streamId: string;
  readonly role: string | null;
  /** Acquisitions since it last got on. */
  readonly attempts: number;
  /** `crashing`: its workers die; `steppedBack`: its writer gave up for now, see `problem`; `unclaimed`: nobody takes it; `silent`: its writer's lease ran out. */
  readonly why: "crashing" | "steppedBack" | "unclaimed" | "silent";
  readonly problem: { readonly code: string; readonly message: string } | null;
  /** When its log or its inbox last grew. */
  readonly since: number;
}

export interface Overview {
  /** Agents that have a schema here. */
  agents(): Promise<string[]>;
  /** A status that no run has is left out; of each at most FIGURES_MAX are counted. */
  counts(agent: string): Promise<Partial<Record<RunStatus, number>>>;
  /** Runs that wait for a person's decision, those that have waited longest first. */
  waiting(agent: string): Promise<RunWaiting[]>;
  /** Oldest first. */
  stuck(agent: string): Promise<StuckStream[]>;
  /** What answers of this day (UTC) cost, those with a known price; `simulated`: one of those prices is made up. */
  paidToday(agent: string): Promise<{ readonly nanoUsd: number; readonly simulated: boolean }>;
}
