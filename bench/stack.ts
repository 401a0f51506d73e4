// The product as it runs on a laptop, over the agent that is measured: real store, queue, handlers, pump and guardian. Only the model takes no time.
import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { createDeadLetterHandler } from "../functions/dead-letter.ts";
import { createGuardianHandler } from "../functions/guardian.ts";
import { createTaskHandler } from "../functions/task.ts";
import { createTickHandler } from "../functions/tick.ts";
import { startGuardianLoop } from "../local/guardian-loop.ts";
import { startPump } from "../local/pump.ts";
import { cronTimes } from "../shared/adapters/cron/croner.ts";
import { createPostgresFiles } from "../shared/adapters/files/postgres.ts";
import { createPostgresFlow } from "../shared/adapters/flow/postgres.ts";
import { NOBODY_WATCHES } from "../shared/adapters/live/none.ts";
import { createModels } from "../shared/adapters/model/models.ts";
import { createDeadLetters } from "../shared/adapters/queue/dead-letters.ts";
import { createPostgresQueue } from "../shared/adapters/queue/postgres.ts";
import { createStore } from "../shared/adapters/store/postgres.ts";
import { createSchedules } from "../shared/adapters/store/schedules.ts";
import { createTotals } from "../shared/adapters/store/totals.ts";
import { createPostgresTimers } from "../shared/adapters/timers/postgres.ts";
import type { Json } from "../shared/core/json.ts";
import { LEASE_MS } from "../shared/core/limits.ts";
import type { EngineDeps } from "../shared/engine/deps.ts";
import { createHolds } from "../shared/engine/holds.ts";
import { runTick } from "../shared/engine/run-tick.ts";
import { startRun } from "../shared/engine/start-run.ts";
import type { Database } from "../shared/ports/database.ts";
import type { LiveOut } from "../shared/ports/live.ts";
import type { Log, LogFields } from "../shared/ports/log.ts";
import type { Model } from "../shared/ports/model.ts";
import type { Store } from "../shared/ports/store.ts";
import { instant, MODEL, serving } from "./agents.ts";

/** What fails on the way would be tried again, and measured: it is shown. */
const complain = (what: string, fields: LogFields = {}): void => console.error(what, JSON.stringify(fields));
export const log: Log = { info: () => {}, warn: complain, error: complain };

export interface Engine {
  readonly deps: EngineDeps;
  /** Appends and plans that were acknowledged. */
  appends(): number;
  close(): Promise<void>;
}

export function createEngine(
  database: Database,
  agents: readonly string[],
  model: Model,
  live: LiveOut = NOBODY_WATCHES,
): Engine {
  let appends = 0;
  const store = counting(createStore(database), () => {
    appends++;
  });
  const queue = createPostgresQueue({ database, log });
  const { flow, keeper } = createHolds({
    streams: store.streams,
    flow: createPostgresFlow(database),
    leaseMs: LEASE_MS,
    log,
    live,
    elapsedMs: () => performance.now(),
    random: Math.random,
  });
  const deps: EngineDeps = {
    store,
    queue,
    timers: createPostgresTimers(queue),
    keeper,
    models: createModels({ env: {}, scripted: { [MODEL]: model } }),
    agents: serving(...agents),
    files: createPostgresFiles(database),
    flow,
    live,
    log,
    leaseMs: LEASE_MS,
    uuid: randomUUID,
    random: Math.random,
    sleep: (ms, signal) => wait(ms, undefined, signal === undefined ? {} : { signal }).catch(() => {}),
  };
  return {
    deps,
    appends: () => appends,
    close: async () => {
      keeper.close();
      await queue.close();
    },
  };
}

const counting = (store: Store, counted: () => void): Store => ({
  ...store,
  streams: {
    ...store.streams,
    append: async (append) => {
      const appended = await store.streams.append(append);
      counted();
      return appended;
    },
    plan: async (plan) => {
      const planned = await store.streams.plan(plan);
      counted();
      return planned;
    },
  },
});

export interface Stack extends Engine {
  readonly database: Database;
  /** Called with a task's tag when its model is asked. */
  readonly asked: Map<string, () => void>;
  /** Pump and guardian are at work for as long as `during` takes. One at a time: who works on a message is who counts its run's end. */
  work<T>(during: () => Promise<T>): Promise<T>;
  start(agent: string, input: Json, process?: string): Promise<string>;
  /** Resolves when this worker has ended the run; to how many ticks it took. */
  ended(runId: string): Promise<number>;
}

/** A worker that takes so many tasks at once. */
export function createStack(database: Database, agents: readonly string[], tasks = 64): Stack {
  const asked = new Map<string, () => void>();
  const engine = createEngine(
    database,
    agents,
    instant(({ tag }) => asked.get(tag)?.()),
  );
  const ends = createEnds();
  const begin = (): (() => Promise<void>) => beginWork(engine.deps, database, tasks, ends.counted);
  return {
    ...engine,
    database,
    asked,
    work: async (during) => {
      const end = begin();
      try {
        return await during();
      } finally {
        await end();
      }
    },
    start: async (agent, input, process = "main") => {
      const started = await startRun(engine.deps, { agent, input, process });
      if (started.type === "refused") throw new Error(started.error.message);
      return started.runId;
    },
    ended: ends.ended,
  };
}

/** Pump and guardian as on a laptop. Returns how to end them. */
export function beginWork(deps: EngineDeps, database: Database, tasks: number, tick = runTick): () => Promise<void> {
  const stopping = new AbortController();
  const handler = { engine: deps, stop: stopping.signal };
  const pump = startPump({
    queue: deps.queue,
    log,
    handlers: {
      tick: createTickHandler(handler, { runTick: tick }),
      task: createTaskHandler(handler),
      deadLetter: createDeadLetterHandler({ deadLetters: createDeadLetters(database), log }),
    },
    tasks,
  });
  const guardian = startGuardianLoop(
    createGuardianHandler({
      ...deps,
      schedules: createSchedules(database),
      totals: createTotals(database),
      cron: cronTimes,
    }),
    log,
  );
  return async () => {
    stopping.abort();
    await Promise.all([pump.stop(), guardian.stop()]);
  };
}

/** Counts each run's ticks, and tells of its end. */
function createEnds(): { readonly counted: typeof runTick; ended(runId: string): Promise<number> } {
  const runs = new Map<string, { ticks: number; readonly end: PromiseWithResolvers<number> }>();
  const of = (runId: string) => {
    const known = runs.get(runId) ?? { ticks: 0, end: Promise.withResolvers<number>() };
    runs.set(runId, known);
    return known;
  };
  return {
    counted: async (deps, hint, at) => {
      const worked = await runTick(deps, hint, at);
      if (worked === "leased" || worked === "terminal") return worked; // a hint that came late
      const run = of(hint.runId);
      run.ticks++;
      if (worked === "ended") run.end.resolve(run.ticks);
      return worked;
    },
    ended: async (runId) => {
      const ticks = await of(runId).end.promise;
      runs.delete(runId);
      return ticks;
    },
  };
}
