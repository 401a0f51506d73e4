// The worker runtime of a laptop: claims messages, gives each to its handler in an SQS event, and turns the partial batch response into deletes and
// retries. Twin on AWS: Lambda's event source mappings.
import { setTimeout as sleep } from "node:timers/promises";
import type { SqsHandler } from "../functions/sqs-batch.ts";
import {
  DEAD_LETTERS_EVERY_MS,
  DRAIN_MS,
  NACK_MS,
  QUEUE_POLL_MS,
  TASKS_PER_WORKER,
  TICKS_PER_WORKER,
  VISIBILITY_MS,
} from "../shared/core/limits.ts";
import { outsideTraces } from "../shared/engine/telemetry.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Queue, Received } from "../shared/ports/queue.ts";
import { createLanes, type Lane, type Lanes, lane } from "./pump-lanes.ts";
import { createSettled, handle, recordDead } from "./pump-messages.ts";

export interface PumpDeps {
  readonly queue: Queue;
  readonly log: Log;
  readonly handlers: { readonly tick: SqsHandler; readonly task: SqsHandler; readonly deadLetter: SqsHandler };
  /** Messages worked on at once: 4 ticks and 10 tasks by default. */
  readonly ticks?: number;
  readonly tasks?: number;
  /** 60 s by default. */
  readonly visibilityMs?: number;
  /** Told what is worked on; called again when it is done. For the watchdog. */
  working?(what: string): () => void;
}

export interface Pump {
  /** Messages worked on right now. */
  readonly size: number;
  /**
   * Claims nothing more, and waits for what runs, at most `drainMs` (20 s by default). Abort the handlers' `stop` signal first: they end at their next step
   * boundary then. Resolves to how many had not ended; their leases run out and their messages show again.
   */
  stop(drainMs?: number): Promise<number>;
}

export function startPump(deps: PumpDeps): Pump {
  const { queue } = deps;
  const visibilityMs = deps.visibilityMs ?? VISIBILITY_MS;
  const settled = createSettled(queue);
  const work = createWork(deps, (message) => settled.add(message));
  const { lanes } = work;
  const unsubscribe = queue.onArrival((name) => outsideTraces(() => lanes.arrived(name))); // called by whoever sends
  const timers = [
    setInterval(() => {
      void settled.flush();
      lanes.look();
    }, QUEUE_POLL_MS),
    setInterval(() => void recordDead(deps, deps.handlers.deadLetter, visibilityMs), DEAD_LETTERS_EVERY_MS),
  ];
  const keep = setInterval(() => {
    // Whatever is still worked on stays hidden: a task may take longer than the visibility.
    for (const { queue: name, receipt } of work.running.keys())
      queue.release(name, receipt, visibilityMs).catch(() => {});
  }, visibilityMs / 3);
  lanes.look();
  return {
    get size() {
      return work.running.size;
    },
    stop: async (drainMs = DRAIN_MS) => {
      work.stop();
      unsubscribe();
      for (const timer of timers) clearInterval(timer);
      const deadline = performance.now() + drainMs;
      while ((work.running.size > 0 || lanes.asking()) && performance.now() < deadline) {
        // While a claim is under way and nothing runs, `allSettled` of nothing would resolve at once, and the loop would never let the claim be answered.
        const ended = work.running.size > 0 ? [Promise.allSettled(work.running.values())] : [];
        await Promise.race([...ended, sleep(Math.min(50, drainMs))]);
      }
      clearInterval(keep);
      await settled.flush();
      return work.running.size;
    },
  };
}

interface PumpWork {
  readonly lanes: Lanes;
  readonly running: ReadonlyMap<Received, Promise<void>>;
  stop(): void;
}

function createWork(deps: PumpDeps, settled: (message: Received) => void): PumpWork {
  const { queue, log, handlers } = deps;
  const ticks = { max: deps.ticks ?? TICKS_PER_WORKER, used: 0 };
  const tasks = { max: deps.tasks ?? TASKS_PER_WORKER, used: 0 };
  const solo = lane("tasks-solo", { max: 1, used: 0 });
  const running = new Map<Received, Promise<void>>();
  let stopped = false;
  let alone = false; // a message of tasks-solo has the worker to itself

  /** Nothing new is claimed meanwhile. What was claimed a moment before still begins, and is waited for as well. */
  const othersEnd = async (): Promise<void> => {
    while (ticks.used + tasks.used > 0 && !stopped) await Promise.race([...running.values(), sleep(NACK_MS)]);
  };
  const workOn = async (l: Lane, message: Received): Promise<void> => {
    if (l === solo) await othersEnd();
    if (stopped) return await queue.release(message.queue, message.receipt, NACK_MS).catch(() => {});
    const done = deps.working?.(`${message.queue} ${message.body}`);
    await handle({ queue, log }, l.queue === "ticks" ? handlers.tick : handlers.task, message, settled);
    done?.();
  };
  const begin = (l: Lane, message: Received): void => {
    if (l === solo) alone = true;
    const done = workOn(l, message).finally(() => {
      running.delete(message);
      l.slots.used--;
      if (l === solo) alone = false;
      lanes.freed();
    });
    running.set(message, done);
  };
  const lanes = createLanes({
    queue,
    log,
    lanes: [solo, lane("ticks", ticks), lane("tasks-short", tasks), lane("tasks-long", tasks)],
    visibilityMs: deps.visibilityMs ?? VISIBILITY_MS,
    open: () => !stopped && !alone,
    begin,
  });
  return {
    lanes,
    running,
    stop: () => {
      stopped = true;
    },
  };
}
