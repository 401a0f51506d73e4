// Schedules: runs that start by a clock. Each time fires at most one run, however many guardians look.
import type { Json } from "../core/json.ts";
import type { NewRun } from "./store.ts";

/** What becomes of times at which nobody was there to fire: nothing, the last of them fires, all of them do. */

export type CatchUp = "none" | "last" | "all";

export interface NewSchedule {
  readonly name: string;
  readonly agent: string;
  readonly process: string;
  readonly input: Json;
  readonly cron: string;
  /** An IANA name, or UTC. */
  readonly zone: string;
  readonly catchUp: CatchUp;
  /** Null: it is paused. */
  readonly nextAt: number | null;
}

export interface Schedule extends NewSchedule {
  readonly id: string;
  readonly createdAt: number;
  readonly createdBy: string;
  /** Its last run; null: it never fired. */
  readonly last: { readonly at: number; readonly runId: string } | null;
  /** Why it last couldn't fire. */
  readonly problem: string | null;
}

export interface Fire {
  readonly id: string;
  /** As it was read: whoever was quicker has moved it. */
  readonly expected: number;
  readonly at: number;
  /** When it fires after this; null: never again. */
  readonly next: number | null;
}

export interface Schedules {
  /** Null: there are SCHEDULES_MAX already. */
  create(schedule: NewSchedule & { readonly createdBy: string }): Promise<Schedule | null>;
  get(id: string): Promise<Schedule | null>;
  /** By name, at most SCHEDULES_MAX. */
  list(): Promise<Schedule[]>;
  /** Null: there is none. */
  change(id: string, schedule: NewSchedule): Promise<Schedule | null>;
  /** False: there is none. Runs that it started stay. */
  remove(id: string): Promise<boolean>;
  /** Those of these agents whose time has come, with the store's clock. */
  due(
    agents: readonly string[],
    limit: number,
  ): Promise<{ readonly schedules: readonly Schedule[]; readonly now: number }>;
  /** The run, its fire and the schedule's next time in one statement. False: somebody else fired it, or it was paused or changed meanwhile. */
  fire(fire: Fire, run: Omit<NewRun, "idempotencyKey" | "files">): Promise<boolean>;
  /** Moves it on without a run; a problem is kept for people to read. */
  skip(id: string, expected: number, next: number | null, problem: string | null): Promise<void>;
}
