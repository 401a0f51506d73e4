// The worker runtime of a laptop: claims messages, gives each to its handler in an SQS event, and turns the partial batch response into deletes and
// retries. Twin on AWS: Lambda's event source mappings.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs, failureFields, type SqsHandler } from "../functions/sqs-batch.ts";
import {
  DEAD_LETTERS_EVERY_MS,
  DRAIN_MS,
  NACK_MS,
  QUEUE_BACKOFF_MAX_MS,
  QUEUE_BATCH_MESSAGES,
  QUEUE_POLL_MS,
  TASKS_PER_WORKER,
  TICKS_PER_WORKER,
  VISIBILITY_MS,
} from "../shared/core/limits.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Queue, QueueName, Received } from "../shared/ports/queue.ts";
import { localContext, toSqsEvent } from "./sqs-event.ts";

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

/** A queue and the slots that it shares with others of its kind. */
interface Lane {
  readonly queue: QueueName;
  readonly slots: { readonly max: number; used: number };
  readonly handler: SqsHandler;
  filling: boolean;
  /** Looked at again when a slot or the worker gets free: more may wait. */
  wanted: boolean;
}

export function startPump(deps: PumpDeps): Pump {
  const { queue, log, handlers } = deps;
  const visibilityMs = deps.visibilityMs ?? VISIBILITY_MS;
  const running = new Map<Received, Promise<void>>();
  const ticks = { max: deps.ticks ?? TICKS_PER_WORKER, used: 0 };
  const tasks = { max: deps.tasks ?? TASKS_PER_WORKER, used: 0 };
  const lane = (name: QueueName, slots: Lane["slots"], handler: SqsHandler): Lane => ({
    queue: name,
    slots,
    handler,
    filling: false,
    wanted: false,
  });
  const solo = lane("tasks-solo", { max: 1, used: 0 }, handlers.task);
  const lanes = [
    solo,
    lane("ticks", ticks, handlers.tick),
    lane("tasks-short", tasks, handlers.task),
    lane("tasks-long", tasks, handlers.task),
  ];
  let stopped = false;
  let alone = false;
  const settled = createSettled(queue);
  const away = createAway(log);

  const free = (l: Lane): number => {
    if (stopped || alone || away.waiting()) return 0; // a message of tasks-solo has the worker to itself
    return Math.min(l.slots.max - l.slots.used, QUEUE_BATCH_MESSAGES);
  };
  const fill = async (l: Lane): Promise<void> => {
    l.wanted = true;
    if (l.filling) return;
    l.filling = true;
    while (l.wanted && free(l) > 0) {
      l.wanted = false;
      const max = free(l);
      l.slots.used += max; // another lane with the same slots may be asking too
      const messages = await receive(l, max);
      l.slots.used -= max - messages.length;
      l.wanted ||= messages.length === max;
      for (const message of messages) begin(l, message);
    }
    l.filling = false;
    wakeAll(); // those who found the slots taken while this one asked
  };
  const receive = async (l: Lane, max: number): Promise<readonly Received[]> => {
    try {
      const messages = await queue.receive(l.queue, max, visibilityMs);
      away.answered();
      return messages;
    } catch (e) {
      away.failed(e);
      l.wanted = true;
      return [];
    }
  };
  const begin = (l: Lane, message: Received): void => {
    if (l === solo) alone = true;
    const done = (async () => {
      if (l === solo) await othersEnd();
      if (stopped) return await giveBack(message);
      await handle(l.handler, message);
    })().finally(() => {
      running.delete(message);
      l.slots.used--;
      if (l === solo) alone = false;
      wakeAll();
    });
    running.set(message, done);
  };
  /** Nothing new is claimed meanwhile. What was claimed a moment before still begins, and is waited for as well. */
  const othersEnd = async (): Promise<void> => {
    while (ticks.used + tasks.used > 0 && !stopped) await Promise.race([...running.values(), sleep(NACK_MS)]);
  };
  const giveBack = (message: Received): Promise<void> =>
    queue.release(message.queue, message.receipt, NACK_MS).catch(() => {});

  const handle = async (handler: SqsHandler, message: Received): Promise<void> => {
    const done = deps.working?.(`${message.queue} ${message.body}`);
    try {
      const answer = await handler(toSqsEvent([message]), localContext(message.queue, randomUUID()));
      // Those that failed are hidden by the handler, as long as they should be.
      if (answer.batchItemFailures.length === 0) settled.add(message);
    } catch (e) {
      log.warn("message not settled", { queue: message.queue, messageId: message.messageId, ...failureFields(e) });
      await queue.release(message.queue, message.receipt, backoffMs(message.receiveCount)).catch(() => {});
    } finally {
      done?.();
    }
  };
  const wakeAll = (): void => {
    for (const l of lanes) if (l.wanted && free(l) > 0) void fill(l);
  };
  const unsubscribe = queue.onArrival((name) => {
    away.maybeBack();
    const l = lanes.find((each) => each.queue === name);
    if (l !== undefined) void fill(l);
  });
  const poll = setInterval(() => {
    void settled.flush();
    for (const l of lanes) void fill(l);
  }, QUEUE_POLL_MS);
  const keep = setInterval(() => {
    // Whatever is still worked on stays hidden; a lease may be waited for longer than the visibility.
    for (const message of running.keys()) queue.release(message.queue, message.receipt, visibilityMs).catch(() => {});
  }, visibilityMs / 3);
  const dead = setInterval(() => void recordDead(deps, visibilityMs), DEAD_LETTERS_EVERY_MS);
  for (const l of lanes) void fill(l);

  return {
    get size() {
      return running.size;
    },
    stop: async (drainMs = DRAIN_MS) => {
      stopped = true;
      unsubscribe();
      for (const timer of [poll, dead]) clearInterval(timer);
      const deadline = performance.now() + drainMs;
      while ((running.size > 0 || lanes.some((l) => l.filling)) && performance.now() < deadline) {
        // While a claim is under way and nothing runs, `allSettled` of nothing would resolve at once, and the loop would never let the claim be answered.
        const ended = running.size > 0 ? [Promise.allSettled(running.values())] : [];
        await Promise.race([...ended, sleep(Math.min(50, drainMs))]);
      }
      clearInterval(keep);
      await settled.flush();
      return running.size;
    },
  };
}

/** The handlers delete each message as it settles; this makes sure of it, many at once: a second delete changes nothing. */
function createSettled(queue: Queue): { add(message: Received): void; flush(): Promise<void> } {
  const done = new Map<QueueName, string[]>();
  return {
    add: (message) => {
      const receipts = done.get(message.queue) ?? [];
      receipts.push(message.receipt);
      done.set(message.queue, receipts);
    },
    flush: async () => {
      const all = [...done];
      done.clear();
      // If it fails they show again, find their streams settled, and go.
      await Promise.allSettled(all.map(([name, receipts]) => queue.delete(name, receipts)));
    },
  };
}

/** Dead letters are few and in no hurry: one batch at a time. */
async function recordDead({ queue, handlers, log }: PumpDeps, visibilityMs: number): Promise<void> {
  try {
    const messages = await queue.receiveDead(QUEUE_BATCH_MESSAGES, visibilityMs);
    if (messages.length === 0) return;
    const answer = await handlers.deadLetter(toSqsEvent(messages, true), localContext("dead-letter", randomUUID()));
    const failed = new Set(answer.batchItemFailures.map((f) => f.itemIdentifier));
    await queue.deleteDead(messages.filter((m) => !failed.has(m.messageId)).map((m) => m.receipt));
  } catch (e) {
    log.warn("dead letters not recorded", failureFields(e));
  }
}

/** A database that is away: asked again after a wait that doubles, up to half a minute, and told of once. */
function createAway(log: Log): { failed(e: unknown): void; answered(): void; maybeBack(): void; waiting(): boolean } {
  let failures = 0;
  let until = 0;
  return {
    maybeBack: () => {
      until = 0; // something was sent, or the listener is connected again
    },
    waiting: () => performance.now() < until,
    failed: (e) => {
      if (failures === 0) log.warn("the queue doesn't answer", failureFields(e));
      until = performance.now() + Math.min(NACK_MS * 2 ** failures, QUEUE_BACKOFF_MAX_MS);
      failures++;
    },
    answered: () => {
      if (failures > 0) log.info("the queue answers again", { failures });
      failures = 0;
      until = 0;
    },
  };
}
