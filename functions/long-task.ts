// A worker without Lambda's time limit: takes what is too long for it, many at once, and ends when there is nothing to do, when newer code was deployed, or
// when it is asked to. Works as the task function does, message by message.
import {
  DRAIN_MS,
  LONG_IDLE_MS,
  LONG_TASKS_PER_WORKER,
  OUTDATED_EVERY_MS,
  QUEUE_POLL_MS,
  VISIBILITY_MS,
} from "../shared/core/limits.ts";
import type { Log } from "../shared/ports/log.ts";
import type { QueueName, Received } from "../shared/ports/queue.ts";
import { decoded } from "./arrived.ts";
import { failureFields } from "./failures.ts";
import { type Consumer, settle } from "./sqs-batch.ts";

export interface LongTaskDeps {
  /** Its `stop` is this worker's: aborted when it is to end. */
  readonly consumer: Consumer;
  readonly queues: readonly QueueName[];
  readonly log: Log;
  /** Asked to end, by the system; aborting it is the caller's. */
  readonly asked: AbortSignal;
  /** Newer code than this worker's was deployed. */
  isOutdated(): Promise<boolean>;
  /** Has the engine let go at its next step boundaries: aborts the consumer's `stop`. */
  letGo(): void;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Null: it waits for work for ever. Default LONG_IDLE_MS. */
  readonly idleMs?: number | null;
  readonly slots?: number;
  /** Between two looks for newer code. Default OUTDATED_EVERY_MS. */
  readonly outdatedEveryMs?: number;
}

export type Ended = "idle" | "outdated" | "asked";

/** Resolves when nothing is worked on any more; asked to end, after DRAIN_MS at the latest. What is left then is taken over by others. */
export async function workLong(deps: LongTaskDeps): Promise<Ended> {
  const { log, asked, sleep } = deps;
  const work = createWork(deps);
  let reason: Ended | null = null;
  const outdated = watchOutdated(deps);
  let idleSince = performance.now();
  while (reason === null) {
    await work.take();
    if (work.running.size > 0) idleSince = performance.now();
    const idleMs = deps.idleMs === undefined ? LONG_IDLE_MS : deps.idleMs;
    if (asked.aborted) reason = "asked";
    else if (outdated.found) reason = "outdated";
    else if (idleMs !== null && performance.now() - idleSince >= idleMs) reason = "idle";
    else await sleep(QUEUE_POLL_MS, asked);
  }
  log.info("worker ends", { reason, running: work.running.size });
  deps.letGo();
  const drained = Promise.allSettled(work.running.values());
  // A worker that is outdated ends its steps, however long; one that is asked to end is killed soon.
  const deadline = new AbortController();
  const late = untilAsked(asked, deadline.signal).then(() => sleep(DRAIN_MS, deadline.signal));
  await Promise.race([drained, late]);
  deadline.abort();
  outdated.stop();
  work.stop();
  return reason;
}

interface Work {
  readonly running: ReadonlyMap<Received, Promise<void>>;
  /** Takes as much as there are free slots. Never rejects. */
  take(): Promise<void>;
  stop(): void;
}

function createWork({ consumer, queues, log, slots = LONG_TASKS_PER_WORKER }: LongTaskDeps): Work {
  const running = new Map<Received, Promise<void>>();
  const at = { solo: false, remainingMs: () => Number.POSITIVE_INFINITY, stop: consumer.stop };
  const begin = (message: Received): void => {
    const one = settle(consumer, decoded(message), at).then(() => void running.delete(message));
    running.set(message, one);
  };
  // Whatever is still worked on stays hidden: it takes longer than any visibility.
  const keep = setInterval(() => {
    for (const { queue, receipt } of running.keys())
      consumer.queue.release(queue, receipt, VISIBILITY_MS).catch(() => {});
  }, VISIBILITY_MS / 3);
  return {
    running,
    take: async () => {
      for (const queue of queues) {
        const free = slots - running.size;
        if (free <= 0) return;
        try {
          for (const message of await consumer.queue.receive(queue, free, VISIBILITY_MS)) begin(message);
        } catch (e) {
          log.warn("no messages received", { queue, ...failureFields(e) });
        }
      }
    },
    stop: () => clearInterval(keep),
  };
}

/** A database that is away says nothing about code: asked again later. */
function watchOutdated({ isOutdated, log, outdatedEveryMs = OUTDATED_EVERY_MS }: LongTaskDeps): {
  readonly found: boolean;
  stop(): void;
} {
  let found = false;
  const look = async (): Promise<void> => {
    try {
      found ||= await isOutdated();
    } catch (e) {
      log.warn("generations not read", failureFields(e));
    }
  };
  const timer = setInterval(() => void look(), outdatedEveryMs);
  timer.unref();
  return {
    get found() {
      return found;
    },
    stop: () => clearInterval(timer),
  };
}

const untilAsked = (asked: AbortSignal, given: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (asked.aborted || given.aborted) resolve();
    for (const signal of [asked, given]) signal.addEventListener("abort", () => resolve(), { once: true });
  });
