// What a deployed function puts together around its handler, over Postgres alone: the entries of the bundle figure. No agent's code is in them, and the
// queue is the Postgres one; the AWS adapters come with their own composition.
import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { openPools } from "../../shared/adapters/database/pools.ts";
import { createPostgresFiles } from "../../shared/adapters/files/postgres.ts";
import { createPostgresFlow } from "../../shared/adapters/flow/postgres.ts";
import { createModels } from "../../shared/adapters/model/models.ts";
import { createPostgresQueue } from "../../shared/adapters/queue/postgres.ts";
import { createStore } from "../../shared/adapters/store/postgres.ts";
import { createPostgresTimers } from "../../shared/adapters/timers/postgres.ts";
import { LEASE_MS } from "../../shared/core/limits.ts";
import type { EngineDeps } from "../../shared/engine/deps.ts";
import { createLeaseKeeper } from "../../shared/engine/lease-keeper.ts";
import { createWorkerFlow } from "../../shared/engine/worker-flow.ts";

/** Connections are made when first used: loading opens none. */
export function compose(): EngineDeps {
  const url = process.env.DATABASE_URL ?? "postgres://127.0.0.1:1/none";
  const database = { ...openPools(url), url, close: async () => {} };
  const log = { info: console.log, warn: console.warn, error: console.error };
  const store = createStore(database);
  const queue = createPostgresQueue({ database, log });
  const flow = createWorkerFlow({
    flow: createPostgresFlow(database),
    elapsedMs: () => performance.now(),
    random: Math.random,
  });
  return {
    store,
    queue,
    timers: createPostgresTimers(queue),
    models: createModels({ env: process.env }),
    agents: { get: () => null, names: () => [] },
    files: createPostgresFiles(database),
    flow,
    log,
    keeper: createLeaseKeeper(store.streams, LEASE_MS, log, flow.renew),
    leaseMs: LEASE_MS,
    uuid: randomUUID,
    random: Math.random,
    sleep: (ms, signal) => wait(ms, undefined, signal === undefined ? {} : { signal }).catch(() => {}),
  };
}
