// A worker in one process over real store, queue and engine, with a small pump of its own, so that a test can end it anywhere. Its death is that of its
// database: what it had sent lands, and nothing answers it any more.
import { randomUUID } from "node:crypto";
import { createPostgresFiles } from "../../shared/adapters/files/postgres.ts";
import { createPostgresFlow } from "../../shared/adapters/flow/postgres.ts";
import { NOBODY_WATCHES } from "../../shared/adapters/live/none.ts";
import { createModels } from "../../shared/adapters/model/models.ts";
import { createPostgresQueue } from "../../shared/adapters/queue/postgres.ts";
import { createStore } from "../../shared/adapters/store/postgres.ts";
import { createPostgresTimers } from "../../shared/adapters/timers/postgres.ts";
import { LEASE_MS } from "../../shared/core/limits.ts";
import type { EngineDeps, Worked } from "../../shared/engine/deps.ts";
import { createHolds } from "../../shared/engine/holds.ts";
import { runTask } from "../../shared/engine/run-task.ts";
import { runTick } from "../../shared/engine/run-tick.ts";
import type { Agents } from "../../shared/ports/agents.ts";
import type { Database } from "../../shared/ports/database.ts";
import type { LiveOut } from "../../shared/ports/live.ts";
import type { Log } from "../../shared/ports/log.ts";
import type { Model } from "../../shared/ports/model.ts";
import { type Hint, QUEUE_NAMES, type Received } from "../../shared/ports/queue.ts";
import type { Store } from "../../shared/ports/store.ts";
import { createSleepers } from "./clock.ts";
import { type Fate, fate as immortal, mortal } from "./mortal.ts";

export interface WorkerOptions {
  readonly database: Database;
  readonly agents: Agents;
  /** By their whole names. No other model is ever asked. */
  readonly models: Readonly<Record<string, Model>>;
  readonly fate?: Fate | undefined;
  readonly leaseMs?: number | undefined;
  /** How long a step may still take; default: for ever. */
  readonly remainingMs?: (() => number) | undefined;
  readonly sleep?: EngineDeps["sleep"];
  /** Default: nobody can watch. */
  readonly live?: LiveOut | undefined;
  /** What a test puts between the engine and the store. */
  readonly around?: (store: Store) => Store;
}

export interface TestWorker {
  readonly deps: EngineDeps;
  readonly fate: Fate;
  /** How the work on each message ended, in order. */
  readonly worked: readonly Worked[];
  /** Takes what is due and begins to work on it; how many messages those were. Never resolves once the worker is dead. */
  step(): Promise<number>;
  /** Messages worked on right now; of one run, if named. */
  inFlight(runId?: string): number;
  readonly stopped: boolean;
  /** Takes no more messages and renews no lease. Work under way stops at its next step boundary. */
  stop(): void;
}

const RECEIVE_MESSAGES = 10;
const VISIBILITY_MS = 60_000;
const RELEASE_MS = 5;
const silent: Log = { info: () => {}, warn: () => {}, error: () => {} };

export function createWorker(options: WorkerOptions): TestWorker {
  const fate = options.fate ?? immortal();
  const deps = depsOf(options, fate);
  const remainingMs = options.remainingMs ?? (() => Number.POSITIVE_INFINITY);
  const worked: Worked[] = [];
  const inFlight = new Map<Promise<void>, string>();
  const stopping = new AbortController();
  let stopped = false;
  fate.onDeath = () => {
    stopped = true;
    deps.keeper.close();
  };

  const work = async (message: Received, hint: Hint): Promise<void> => {
    const at = { solo: message.queue === "tasks-solo", remainingMs, stop: stopping.signal };
    const { taskId } = hint;
    try {
      worked.push(taskId === null ? await runTick(deps, hint, at) : await runTask(deps, { ...hint, taskId }, at));
      await deps.queue.delete(message.queue, [message.receipt]);
    } catch {
      await deps.queue.release(message.queue, message.receipt, RELEASE_MS).catch(() => {});
    }
  };
  return {
    deps,
    fate,
    worked,
    step: async () => {
      let received = 0;
      for (const queue of QUEUE_NAMES) {
        for (const message of await deps.queue.receive(queue, RECEIVE_MESSAGES, VISIBILITY_MS)) {
          received++;
          const hint = JSON.parse(message.body) as Hint;
          const one: Promise<void> = work(message, hint).finally(() => inFlight.delete(one));
          inFlight.set(one, hint.runId);
        }
      }
      return received;
    },
    inFlight: (runId) =>
      runId === undefined ? inFlight.size : [...inFlight.values()].filter((id) => id === runId).length,
    get stopped() {
      return stopped;
    },
    stop: () => {
      stopped = true;
      stopping.abort();
      deps.keeper.close();
    },
  };
}

function depsOf(options: WorkerOptions, fate: Fate): EngineDeps {
  const database = mortal(options.database, fate);
  const real = createStore(database);
  const store = options.around?.(real) ?? real;
  const leaseMs = options.leaseMs ?? LEASE_MS;
  const live = options.live ?? NOBODY_WATCHES;
  const { flow, keeper } = createHolds({
    streams: store.streams,
    flow: createPostgresFlow(database),
    leaseMs,
    log: silent,
    live,
    elapsedMs: () => performance.now(),
    random: Math.random,
  });
  const models = Object.entries(options.models).map(([name, model]) => [name, mortalModel(model, fate)]);
  const queue = createPostgresQueue({ database, log: silent });
  return {
    store,
    queue,
    timers: createPostgresTimers(queue),
    models: createModels({ env: {}, scripted: Object.fromEntries(models) as Record<string, Model> }),
    agents: options.agents,
    files: createPostgresFiles(database),
    flow,
    live,
    log: silent,
    keeper,
    leaseMs,
    uuid: randomUUID,
    random: Math.random,
    sleep: options.sleep ?? createSleepers().sleep,
  };
}

const mortalModel = (model: Model, fate: Fate): Model => ({
  ...model,
  ask: (request, signal, context) => (fate.dead ? new Promise(() => {}) : model.ask(request, signal, context)),
});

/** Null when the worker died meanwhile: its promises never settle. */
export async function orDead<T>(promise: Promise<T>, fate: Fate): Promise<T | null> {
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
