// A whole stack in one process: the test kit's worker, driven by hand, that notes each append. What its death leaves behind is what it wrote; `passTime` ends
// the leases and visibility times that would run out.
import { setTimeout as wait } from "node:timers/promises";
import { passTime } from "../../local/testing/clock.ts";
import type { Fate } from "../../local/testing/mortal.ts";
import { createWorker, orDead } from "../../local/testing/worker.ts";
import type { Json } from "../../shared/core/json.ts";
import { type Budget, NO_BUDGET } from "../../shared/core/task/ledger.ts";
import type { EngineDeps, Worked } from "../../shared/engine/deps.ts";
import { guard } from "../../shared/engine/guard.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import type { Agents } from "../../shared/ports/agents.ts";
import type { Database } from "../../shared/ports/database.ts";
import type { LiveOut } from "../../shared/ports/live.ts";
import type { Model } from "../../shared/ports/model.ts";
import type { RunRow, Store } from "../../shared/ports/store.ts";
import { SCRIPT } from "./agents.ts";

export { passTime };

export interface StackOptions {
  readonly database: Database;
  readonly agents: Agents;
  readonly model: Model;
  readonly fate?: Fate;
  readonly leaseMs?: number;
  /** Default: nobody can watch. */
  readonly live?: LiveOut;
  /** How long a step may still take; default: for ever. */
  readonly remainingMs?: () => number;
}

export interface Stack {
  readonly deps: EngineDeps;
  readonly fate: Fate;
  start(agent: string, input: Json, budget?: Budget): Promise<string>;
  /** Works until the run has ended, the stack is dead, or nothing is due within the next seconds. */
  drive(until: { agent: string; runId: string }, limits?: { timeoutMs?: number }): Promise<RunRow | null>;
  /** Stops taking messages, and its timers. */
  stop(): void;
  /** Each append, in the order they were begun: `stream: events, what becomes of the stream`. */
  readonly appended: readonly string[];
  /** How the work on each message ended, in order. */
  readonly worked: readonly Worked[];
}

export function createStack(options: StackOptions): Stack {
  const { database, agents, model, fate: hand, leaseMs, live, remainingMs } = options;
  const appended: string[] = [];
  const worker = createWorker({
    database,
    agents,
    models: { [SCRIPT]: model },
    fate: hand,
    leaseMs,
    live,
    remainingMs,
    around: (store) => counting(store, appended),
  });
  const { deps, fate, worked } = worker;
  const idle = async (agent: string): Promise<boolean> =>
    (await database.pool.query<{ idle: boolean }>(idleQuery(agent))).rows[0]?.idle ?? true;
  return {
    deps,
    fate,
    worked,
    appended,
    start: async (agent, input, budget = NO_BUDGET) => {
      const started = await startRun(deps, { agent, input, budget });
      if (started.type === "refused") throw new Error(started.error.message);
      return started.runId;
    },
    drive: async ({ agent, runId }, { timeoutMs = 25_000 } = {}) => {
      const end = Date.now() + timeoutMs;
      while (!worker.stopped) {
        const received = await orDead(worker.step(), fate);
        if (received === null) return null;
        const row = await orDead(deps.store.runs.get(agent, runId), fate);
        if (row === null) return null;
        if (row.endedAt !== null && worker.inFlight() === 0) return row; // losers hear of the end by their hints
        if (Date.now() > end) throw new Error(`run ${runId} is still ${row.status} after ${timeoutMs} ms`);
        if (received === 0 && worker.inFlight() === 0 && (await orDead(idle(agent), fate))) return row;
        if (received === 0) {
          await orDead(guard(deps), fate);
          await wait(5);
        }
      }
      return null;
    },
    stop: worker.stop,
  };
}

/** The store, noting each append and plan by the stream that it writes and the events that it holds. */
const counting = (store: Store, appended: string[]): Store => ({
  ...store,
  streams: {
    ...store.streams,
    append: (append) => {
      appended.push(
        `${append.lease.stream.streamId}: ${[...append.events.map((e) => e.type), append.next.type].join(" ")}`,
      );
      return store.streams.append(append);
    },
    plan: (plan) => {
      appended.push(`${plan.lease.stream.streamId}: ${[...plan.events.map((e) => e.type), "plan"].join(" ")}`);
      return store.streams.plan(plan);
    },
  },
});

/** Nobody works, no hint is due within a second (a turn at a gate may be), and no clock rings soon: the grace of a ready stream (5 s) is soon. */
const idleQuery = (agent: string): string => `
  SELECT NOT EXISTS (SELECT FROM agent_${agent}.streams WHERE status = 'running' OR wake_at < clock_timestamp() + interval '8 s')
     AND NOT EXISTS (SELECT FROM toren_control.queue_messages WHERE visible_at <= clock_timestamp() + interval '1 s') AS idle`;

/** In the order in which statements take locks, so that the last statement of a dead stack is waited for, and nobody's deadlock. */
const TABLES = [
  "streams",
  "budgets",
  "waves",
  "runs",
  "events",
  "inbox",
  "task_specs",
  "blobs",
  "run_files",
  "snapshots",
];

/**
 * Forgets every run: what a failed test left behind would be worked on by the next one's stack. Deleted and not truncated: a TRUNCATE needs all tables to
 * itself and makes some forty files, and on a busy server one has waited for half a minute.
 */
export async function emptied(database: Database, agent: string): Promise<void> {
  for (const table of [
    ...TABLES.map((name) => `agent_${agent}.${name}`),
    "toren_control.queue_messages",
    "toren_control.gates",
  ])
    await database.pool.query(`DELETE FROM ${table}`);
}
