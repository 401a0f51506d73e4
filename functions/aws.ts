// The composition on AWS: which adapter stands behind each port. Made once a process, at its first invocation. Twin: local/compose.ts.
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { PoolSizes } from "../shared/adapters/database/pools.ts";
import { createS3Files } from "../shared/adapters/files/s3.ts";
import { createPostgresFlow } from "../shared/adapters/flow/postgres.ts";
import { createLiveOut } from "../shared/adapters/live/postgres.ts";
import { createModels } from "../shared/adapters/model/models.ts";
import { createPulse } from "../shared/adapters/pulse/postgres.ts";
import { createBeatSender } from "../shared/adapters/pulse/sqs.ts";
import { createSqsQueue } from "../shared/adapters/queue/sqs.ts";
import { depthsOf } from "../shared/adapters/queue/sqs-depth.ts";
import { createEcsWorkers } from "../shared/adapters/runtime/ecs.ts";
import { createSecretsManagerSecrets } from "../shared/adapters/secrets/secrets-manager.ts";
import { createDeployments } from "../shared/adapters/store/deployments.ts";
import { createStore } from "../shared/adapters/store/postgres.ts";
import { createSchedulerTimers } from "../shared/adapters/timers/scheduler.ts";
import { PULSE_MS } from "../shared/core/limits.ts";
import type { EngineDeps } from "../shared/engine/deps.ts";
import { createHolds } from "../shared/engine/holds.ts";
import type { Database } from "../shared/ports/database.ts";
import type { Deployments } from "../shared/ports/deployments.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Pulse } from "../shared/ports/pulse.ts";
import type { Queue, QueueDepth } from "../shared/ports/queue.ts";
import type { LongWorkers } from "../shared/ports/runtime.ts";
import type { Secrets } from "../shared/ports/secrets.ts";
import { type ServedAgents, serveAgents, wantsSecrets } from "./agents.ts";
import { openDatabase } from "./aws-database.ts";
import { type Environment, optional, required } from "./aws-environment.ts";
import { BUNDLED_AGENTS } from "./bundled-agents.ts";
import { failureFields } from "./failures.ts";
import { modelsWithSecrets } from "./models.ts";
import { sealerOf } from "./sealer.ts";

export interface Aws {
  readonly engine: EngineDeps;
  readonly database: Database;
  readonly agents: ServedAgents;
  readonly deployments: Deployments;
  readonly pulse: Pulse;
  /** Null: this installation has no workers for long tasks. */
  readonly longWorkers: LongWorkers | null;
  sendBeat(beat: number): Promise<void>;
  /** How many messages wait in the queues. */
  queues(): Promise<readonly QueueDepth[]>;
  /** At the beginning of an invocation: the secret's values as they are now. */
  refresh(): Promise<void>;
  /** Starts the pulse if it rests or was lost: whoever may take a lease calls it. Never rejects. */
  startPulse(): Promise<void>;
  close(): Promise<void>;
}

/** @throws TorenError `environment.incomplete`, `agent.not_registered`, `database.unavailable`, `secret.unavailable`, `encryption.keys_invalid`. */
export async function composeAws(env: Environment, log: Log, connections?: PoolSizes): Promise<Aws> {
  const leaseMs = required(env, "lease");
  const { arn } = required(env, "secrets");
  const secrets = createSecretsManagerSecrets({ arn });
  const longWorkers = longWorkersOf(env, log);
  const queue = hinting(queueOf(env), longWorkers, log);
  const sealer = await sealerOf(env, secrets); // before anything is open
  const database = { ...(await openDatabase(env, connections)), sealer };
  const files = createS3Files({ database, ...required(env, "files") });
  const deployments = createDeployments(database);
  const longLane = required(env, "longLane");
  const agents = await serveAgents(BUNDLED_AGENTS, deployments, env, longLane);
  const store = createStore(database);
  const live = createLiveOut({ database });
  const { flow, keeper } = createHolds({
    streams: store.streams,
    flow: createPostgresFlow(database),
    leaseMs,
    log,
    live,
    elapsedMs: () => performance.now(),
    random: Math.random,
  });
  const engine: EngineDeps = {
    store,
    queue,
    timers: createSchedulerTimers({ queue, log, schedules: optional(env, "timers") }),
    flow,
    keeper,
    agents,
    live,
    log,
    leaseMs,
    longLane,
    files,
    models: modelsWithSecrets({
      secrets,
      place: `the secret ${arn}`,
      make: (values) => createModels({ env: { ...env, ...values } }),
    }),
    uuid: randomUUID,
    random: Math.random,
    sleep,
  };
  const pulse = createPulse(database);
  const sendBeat = createBeatSender(required(env, "pulse").queueUrl);
  return {
    engine,
    database,
    agents,
    deployments,
    pulse,
    longWorkers,
    sendBeat,
    queues: () => depthsOf(required(env, "queues").byName),
    refresh: refresher(env, secrets, agents, log),
    startPulse: pulseStarter(pulse, sendBeat, log),
    close: async () => {
      keeper.close();
      await live.close();
      await database.close();
    },
  };
}

/** Needs no database: what becomes of messages when there is none. */
export function queueOf(env: Environment): Queue {
  const { byName, dead } = required(env, "queues");
  return createSqsQueue({ urls: byName, deadUrl: dead });
}

/**
 * Hints that are lost cost time, never truth (I9): work that is recorded doesn't fail because its hint can't be sent; the guardian sends another. Who sends
 * a long task has a worker started.
 */
function hinting(queue: Queue, longWorkers: LongWorkers | null, log: Log): Queue {
  return {
    ...queue,
    send: async (messages) => {
      try {
        await queue.send(messages);
      } catch (e) {
        log.error("hints not sent", { hints: messages.length, ...failureFields(e) });
        return;
      }
      if (messages.some((message) => message.queue === "tasks-long")) await longWorkers?.first();
    },
  };
}

function longWorkersOf(env: Environment, log: Log): LongWorkers | null {
  const place = optional(env, "longTasks");
  return place === null ? null : createEcsWorkers({ ...place, log });
}

/** Agents take the secret's values up as they change; without any that lists some, the secret is read when a model is first asked. */
function refresher(env: Environment, secrets: Secrets, agents: ServedAgents, log: Log): () => Promise<void> {
  if (!wantsSecrets(BUNDLED_AGENTS, env)) return async () => {};
  let used: unknown;
  return async () => {
    try {
      const values = await secrets.read();
      if (values === used) return;
      used = values;
      agents.use({ ...env, ...values });
    } catch (e) {
      log.error("secret not read", failureFields(e));
    }
    for (const { agent, message } of agents.problems) log.error("agent not served", { agent, error: message });
  };
}

function pulseStarter(pulse: Pulse, sendBeat: (beat: number) => Promise<void>, log: Log): () => Promise<void> {
  let lookedAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (Date.now() - lookedAt < PULSE_MS) return;
    lookedAt = Date.now();
    try {
      const beat = await pulse.start();
      if (beat !== null) await sendBeat(beat);
    } catch (e) {
      log.warn("pulse not started", failureFields(e)); // the minute schedule does
    }
  };
}

export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  delay(ms, undefined, signal === undefined ? {} : { signal }).catch(() => {});
