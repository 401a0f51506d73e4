// One worker process: the engine over its own connection, its own leases, and code of some edition. It dies when the world says so.
import { NOBODY_WATCHES } from "../../shared/adapters/live/none.ts";
import { factsOf } from "../../shared/adapters/model/table.ts";
import { createPostgresTimers } from "../../shared/adapters/timers/postgres.ts";
import { LEASE_MS } from "../../shared/core/limits.ts";
import type { EngineDeps } from "../../shared/engine/deps.ts";
import { createLeaseKeeper, type LeaseKeeper } from "../../shared/engine/lease-keeper.ts";
import { createWorkerFlow } from "../../shared/engine/worker-flow.ts";
import type { AgentDefinition, Agents } from "../../shared/ports/agents.ts";
import type { Flow } from "../../shared/ports/flow.ts";
import type { StreamStore } from "../../shared/ports/store.ts";
import { SCRIPT } from "../support/agents.ts";
import type { Connection, Fate } from "./connection.ts";
import type { SimDatabase } from "./database.ts";
import { createSimFlow } from "./flow.ts";
import type { Program } from "./program.ts";
import type { Outside, Provider } from "./provider.ts";
import type { SimQueue } from "./queue.ts";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";
import { createSimStore } from "./store.ts";

export interface Surroundings {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly db: SimDatabase;
  readonly queue: SimQueue;
  readonly provider: Provider;
  readonly outside: Outside;
  readonly program: Program;
  readonly tries: number;
  fate(): Fate;
  uuid(): string;
  warn(what: string): void;
}

export interface Worker {
  readonly owner: string;
  readonly deps: EngineDeps;
  /** Aborts when it is asked to stop. */
  readonly stop: AbortController;
  /** Which edit of the code it has; a reload raises it. */
  edition: number;
  /** Messages it works on. */
  busy: number;
  solo: boolean;
}

export function createWorker(world: Surroundings, owner: string, edition: number, clockOffMs: number): Worker {
  const { scheduler, random, db, queue, provider, outside, program } = world;
  const connection: Connection = { db, owner, clockOffMs, tries: world.tries, fate: world.fate };
  const store = createSimStore(connection);
  const log = { info: () => {}, warn: (what: string) => world.warn(what), error: (what: string) => world.warn(what) };
  const model = provider.modelFor(owner);
  const port = queue.portFor(owner);
  const flow = createWorkerFlow({
    flow: createSimFlow(connection),
    elapsedMs: () => scheduler.now,
    random: () => random.next(),
  });
  const deps: EngineDeps = {
    store,
    queue: port,
    timers: createPostgresTimers(port),
    models: { resolve: async () => ({ ok: true, model }), facts: factsOf },
    agents: agentsOf(program, () => worker.edition, owner, outside),
    files: {
      add: async () => unused(),
      list: async () => [],
      page: async () => unused(),
      content: async () => null,
      pageText: async () => null,
      remove: async () => unused(),
      uploads: null,
      forget: async () => unused(),
    },
    log,
    live: NOBODY_WATCHES,
    flow,
    keeper: beating(scheduler, owner, store.streams, flow, log),
    leaseMs: LEASE_MS,
    uuid: world.uuid,
    random: () => random.next(),
    sleep: (ms, signal) => scheduler.sleep(owner, "wakes", Math.ceil(ms), signal),
  };
  const worker: Worker = { owner, deps, stop: new AbortController(), edition, busy: 0, solo: false };
  return worker;
}

const unused = (): never => {
  throw new Error("no program has files");
};

/** Generations are editions, counted from 1. */
function agentsOf(program: Program, edition: () => number, owner: string, outside: Outside): Agents {
  const loaded = new Map<number, AgentDefinition>();
  const current = (): AgentDefinition => {
    const agent = loaded.get(edition()) ?? program.agent({ owner, outside, edition: edition() });
    loaded.set(edition(), agent);
    return agent;
  };
  return {
    get: (name) => (name === SCRIPTED_AGENT ? { agent: current(), generation: edition() + 1 } : null),
    names: () => [SCRIPTED_AGENT],
  };
}
export const SCRIPTED_AGENT = "sim";
export { SCRIPT };

/** A timer of the real clock that never fires in a simulation. */
const NEVER_MS = 2 ** 31 - 1;
const BEAT_MS = LEASE_MS / 3;

/** The product's lease keeper, its heart beating by virtual time. */
function beating(
  scheduler: Scheduler,
  owner: string,
  streams: StreamStore,
  flow: Flow,
  log: EngineDeps["log"],
): LeaseKeeper {
  const renewing = {
    ...streams,
    renew: (leases: Parameters<StreamStore["renew"]>[0]) => streams.renew(leases, LEASE_MS),
  };
  const keeper = createLeaseKeeper(renewing, NEVER_MS, log, {
    renew: (held) => flow.renew(held, LEASE_MS),
  });
  let beats = false;
  const beat = async (): Promise<void> => {
    beats = true;
    for (;;) {
      await scheduler.point(owner, "beats", BEAT_MS);
      if (keeper.size === 0) break;
      await keeper.beat();
    }
    beats = false;
  };
  return {
    hold: (holder) => {
      if (!beats) void beat();
      return keeper.hold(holder);
    },
    poke: keeper.poke,
    get size() {
      return keeper.size;
    },
    beat: keeper.beat,
    close: keeper.close,
  };
}
