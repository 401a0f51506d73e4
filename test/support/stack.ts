// A whole stack in one process: real store, queue and engine over a real Postgres, with a small pump of its own so that a test can end it anywhere.
// What a worker's death leaves behind is what it wrote; `passTime` ends the leases and visibility times that would run out.
import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { Pool } from "pg";
import { createPostgresFiles } from "../../shared/adapters/files/postgres.ts";
import { createModels } from "../../shared/adapters/model/models.ts";
import { createPostgresQueue } from "../../shared/adapters/queue/postgres.ts";
import { createStore } from "../../shared/adapters/store/postgres.ts";
import type { Json } from "../../shared/core/json.ts";
import type { EngineDeps, Worked } from "../../shared/engine/deps.ts";
import { guard } from "../../shared/engine/guard.ts";
import { createLeaseKeeper } from "../../shared/engine/lease-keeper.ts";
import { runTask } from "../../shared/engine/run-task.ts";
import { runTick } from "../../shared/engine/run-tick.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import type { Agents } from "../../shared/ports/agents.ts";
import type { Database } from "../../shared/ports/database.ts";
import type { Model } from "../../shared/ports/model.ts";
import { type Hint, QUEUE_NAMES, type Received } from "../../shared/ports/queue.ts";
import type { RunRow, Store } from "../../shared/ports/store.ts";
import { SCRIPT } from "./agents.ts";
import { type Fate, fate as immortal, mortal } from "./mortal.ts";

export interface StackOptions {
  readonly database: Database;
  readonly agents: Agents;
  readonly model: Model;
  readonly fate?: Fate;
  readonly leaseMs?: number;
  /** How long a step may still take; default: for ever. */
  readonly remainingMs?: () => number;
}

export interface Stack {
  readonly deps: EngineDeps;
  readonly fate: Fate;
  start(agent: string, input: Json): Promise<string>;
  /** Works until the run has ended, the stack is dead, or nothing is due within the next seconds. */
  drive(until: { agent: string; runId: string }, limits?: { timeoutMs?: number }): Promise<RunRow | null>;
  /** Stops taking messages, and its timers. */
  stop(): void;
  /** Each append, in the order they were begun: `stream: events, what becomes of the stream`. */
  readonly appended: readonly string[];
  /** How the work on each message ended, in order. */
  readonly worked: Worked[];
}

export function createStack(options: StackOptions): Stack {
  const fate = options.fate ?? immortal();
  const database = mortal(options.database, fate);
  const appended: string[] = [];
  const store = counting(createStore(database), appended);
  const leaseMs = options.leaseMs ?? 30_000;
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const model: Model = {
    ask: (request, signal) => (fate.dead ? new Promise(() => {}) : options.model.ask(request, signal)),
  };
  const deps: EngineDeps = {
    store,
    queue: createPostgresQueue({ database, log }),
    models: createModels({ env: {}, scripted: { [SCRIPT]: model } }),
    agents: options.agents,
    files: createPostgresFiles(database),
    log,
    keeper: createLeaseKeeper(store.streams, leaseMs, log),
    leaseMs,
    uuid: randomUUID,
    random: Math.random,
    sleep: (ms, signal) =>
      wait(ms, undefined, signal === undefined ? {} : { signal }).then(
        () => {},
        () => {},
      ),
  };
  return stackOf(deps, fate, options.remainingMs ?? (() => Number.POSITIVE_INFINITY), appended, database.pool);
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

function stackOf(
  deps: EngineDeps,
  fate: Fate,
  remainingMs: () => number,
  appended: readonly string[],
  pool: Pool,
): Stack {
  const worked: Worked[] = [];
  const inFlight = new Set<Promise<void>>();
  const stopping = new AbortController();
  let stopped = false;
  fate.onDeath = () => {
    stopped = true;
    deps.keeper.close();
  };

  const work = async (message: Received): Promise<void> => {
    const hint = JSON.parse(message.body) as Hint;
    const at = { solo: message.queue === "tasks-solo", remainingMs, stop: stopping.signal };
    const { taskId } = hint;
    try {
      worked.push(taskId === null ? await runTick(deps, hint, at) : await runTask(deps, { ...hint, taskId }, at));
      await deps.queue.delete(message.queue, [message.receipt]);
    } catch {
      await deps.queue.release(message.queue, message.receipt, 5).catch(() => {});
    }
  };
  const idle = async (agent: string): Promise<boolean> =>
    (await pool.query<{ idle: boolean }>(idleQuery(agent))).rows[0]?.idle ?? true;
  const receive = async (): Promise<number> => {
    let received = 0;
    for (const queue of QUEUE_NAMES) {
      for (const message of await deps.queue.receive(queue, 10, 60_000)) {
        received++;
        const one: Promise<void> = work(message).finally(() => inFlight.delete(one));
        inFlight.add(one);
      }
    }
    return received;
  };

  return {
    deps,
    fate,
    worked,
    appended,
    start: async (agent, input) => {
      const started = await startRun(deps, { agent, input });
      if (started.type === "refused") throw new Error(started.error.message);
      return started.runId;
    },
    drive: async ({ agent, runId }, { timeoutMs = 25_000 } = {}) => {
      const end = Date.now() + timeoutMs;
      while (!stopped) {
        const received = await orDead(receive(), fate);
        if (received === null) return null;
        const row = await orDead(deps.store.runs.get(agent, runId), fate);
        if (row === null) return null;
        if (row.endedAt !== null && inFlight.size === 0) return row; // losers hear of the end by their hints
        if (Date.now() > end) throw new Error(`run ${runId} is still ${row.status} after ${timeoutMs} ms`);
        if (received === 0 && inFlight.size === 0 && (await orDead(idle(agent), fate))) return row;
        if (received === 0) {
          await orDead(guard(deps), fate);
          await wait(5);
        }
      }
      return null;
    },
    stop: () => {
      stopped = true;
      stopping.abort();
      deps.keeper.close();
    },
  };
}

/** Nobody works, no hint is due, and no clock rings soon: the grace of a ready stream (5 s) is soon. */
const idleQuery = (agent: string): string => `
  SELECT NOT EXISTS (SELECT FROM agent_${agent}.streams WHERE status = 'running' OR wake_at < clock_timestamp() + interval '8 s')
     AND NOT EXISTS (SELECT FROM toren_control.queue_messages WHERE visible_at <= clock_timestamp()) AS idle`;

/** Null when the stack died meanwhile: its promises never settle. */
async function orDead<T>(promise: Promise<T>, fate: Fate): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const dead = new Promise<null>((resolve) => {
    timer = setInterval(() => fate.dead && resolve(null), 5);
  });
  try {
    return await Promise.race([promise, dead]);
  } finally {
    clearInterval(timer);
  }
}

/** As if a lease and a visibility time had passed since the worker died: nobody waits for real in the matrix. */
export async function passTime(database: Database, agent: string): Promise<void> {
  await database.pool.query(
    `UPDATE agent_${agent}.streams SET lease_until = clock_timestamp() - interval '1 s' WHERE lease_until IS NOT NULL`,
  );
  await database.pool.query(
    `UPDATE agent_${agent}.streams SET wake_at = clock_timestamp() - interval '1 s' WHERE wake_at IS NOT NULL AND status IN ('ready', 'running')`,
  );
  await database.pool.query("UPDATE toren_control.queue_messages SET visible_at = clock_timestamp() - interval '1 s'");
}

/** Forgets every run: what a failed test left behind would be worked on by the next one's stack. */
export async function emptied(database: Database, agent: string): Promise<void> {
  const tables = ["runs", "streams", "events", "inbox", "task_specs", "waves", "blobs", "run_files"].map(
    (table) => `agent_${agent}.${table}`,
  );
  await database.pool.query(`TRUNCATE ${tables.join(", ")}, toren_control.queue_messages`);
}
