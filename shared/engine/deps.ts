// What every use case needs of the world. Composed by local/compose.ts and functions/aws.ts; by tests from real adapters.
import type { Agents } from "../ports/agents.ts";
import type { Files } from "../ports/files.ts";
import type { Flow } from "../ports/flow.ts";
import type { LiveOut } from "../ports/live.ts";
import type { Log } from "../ports/log.ts";
import type { Models } from "../ports/model.ts";
import type { Queue } from "../ports/queue.ts";
import type { Store } from "../ports/store.ts";
import type { Timers } from "../ports/timers.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";

export interface EngineDeps {
  readonly store: Store;
  readonly queue: Queue;
  readonly timers: Timers;
  readonly models: Models;
  readonly agents: Agents;
  readonly files: Files;
  /** The gates as this worker has them (worker-flow.ts). */
  readonly flow: Flow;
  /** What models say while they say it, for whoever watches. */
  readonly live: LiveOut;
  readonly log: Log;
  /** Renews the leases of this worker's live writers. */
  readonly keeper: LeaseKeeper;
  readonly leaseMs: number;
  /** False: there is no worker that isn't cut off, so nothing is sent to the queue of long tasks. Default: there may be one. */
  readonly longLane?: boolean;
  /** A fresh UUID. */
  uuid(): string;
  /** In [0, 1): jitter and ctx.random's seed. Recorded before it is used. */
  random(): number;
  /** Resolves after `ms`, or at once when the signal aborts. The only clock in the engine; it measures, it never decides what is due (I8). */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The circumstances of one message's work. */
export interface Circumstances {
  /** Alone in this worker (queue `tasks-solo`): only deaths here count towards `crash_loop`. */
  readonly solo: boolean;
  /** How long this invocation may still run; Infinity on a laptop. */
  remainingMs(): number;
  /** Aborts when the worker is asked to stop: finish the step, release, hand over. */
  readonly stop: AbortSignal;
  /** Aborts some seconds before this worker is cut off, whatever it does then: no time to finish the step. Left out: it never is. */
  readonly deadline?: AbortSignal;
}

/**
 * How the work on one message ended. All of them acknowledge the message: what is to be done later has its own hint or clock by then.
 * `leased`: another writer has the stream. `terminal`: it had ended already. `parked`: waits for a fact or a time. `handedOver`: released for the next
 * invocation. `deferred`: not this worker's to touch (older generation, unknown event, cut storm, crash on its way to the solo queue).
 * `lost`: the lease went to somebody else. `ended`: the stream ended here. `unserved`: this worker doesn't have the agent.
 */
export type Worked =
  | "leased"
  | "terminal"
  | "parked"
  | "handedOver"
  | "deferred"
  | "lost"
  | "ended"
  | "unserved"
  | "missing";
