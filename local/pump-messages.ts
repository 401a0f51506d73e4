// What the pump does with a message that it has claimed: the event source mapping's part of the work.
import { randomUUID } from "node:crypto";
import { failureFields } from "../functions/failures.ts";
import { backoffMs, type SqsHandler } from "../functions/sqs-batch.ts";
import { QUEUE_BATCH_MESSAGES } from "../shared/core/limits.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Queue, QueueName, Received } from "../shared/ports/queue.ts";
import { localContext, toSqsEvent } from "./sqs-event.ts";

interface Deps {
  readonly queue: Queue;
  readonly log: Log;
}

/** Gives one message to its handler. Never rejects. `settled`: called with it unless it failed. */
export async function handle(
  { queue, log }: Deps,
  handler: SqsHandler,
  message: Received,
  settled: (message: Received) => void,
): Promise<void> {
  try {
    const answer = await handler(toSqsEvent([message]), localContext(message.queue, randomUUID()));
    // One that failed is hidden by the handler, for as long as it should be.
    if (answer.batchItemFailures.length === 0) settled(message);
  } catch (e) {
    log.warn("message not settled", { queue: message.queue, messageId: message.messageId, ...failureFields(e) });
    await queue.release(message.queue, message.receipt, backoffMs(message.receiveCount)).catch(() => {});
  }
}

/** The handlers delete each message as it settles; this makes sure of it, many at once: a second delete changes nothing. */
export function createSettled(queue: Queue): { add(message: Received): void; flush(): Promise<void> } {
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

/** Dead letters are few and in no hurry: one batch at a time. Never rejects. */
export async function recordDead({ queue, log }: Deps, handler: SqsHandler, visibilityMs: number): Promise<void> {
  try {
    const messages = await queue.receiveDead(QUEUE_BATCH_MESSAGES, visibilityMs);
    if (messages.length === 0) return;
    const answer = await handler(toSqsEvent(messages, true), localContext("dead-letter", randomUUID()));
    const failed = new Set(answer.batchItemFailures.map((f) => f.itemIdentifier));
    await queue.deleteDead(messages.filter((m) => !failed.has(m.messageId)).map((m) => m.receipt));
  } catch (e) {
    log.warn("dead letters not recorded", failureFields(e));
  }
}
