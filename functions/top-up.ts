// A deployed worker's slots: while some of its tasks still wait for their models, more messages are taken into the free ones. Without it a slow task would
// keep a whole invocation for itself, at the price of ten.
import { getHeapStatistics } from "node:v8";
import {
  ADMISSION_HEAP_PERCENT,
  TASK_INVOCATION_MS,
  TOP_UP_EVERY_MS,
  TOP_UP_UNTIL_MS,
  VISIBILITY_MARGIN_MS,
} from "../shared/core/limits.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Queue, QueueName } from "../shared/ports/queue.ts";
import { type Arrived, decoded } from "./arrived.ts";
import { failureFields } from "./failures.ts";

export interface TopUp {
  readonly queue: QueueName;
  /** Messages worked on at once. */
  readonly slots: number;
  /** Of the heap that may be used, in percent. Default: what V8 says. */
  heapPercent?(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

interface Deps {
  readonly queue: Pick<Queue, "receive">;
  readonly log: Log;
}

/** Resolves when nothing is worked on and there was nothing more to take. `one` never rejects. */
export async function workAndTopUp(
  { queue, log }: Deps,
  topUp: TopUp,
  first: readonly Arrived[],
  one: (message: Arrived) => Promise<void>,
  remainingMs: () => number,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const begin = (message: Arrived): void => {
    const work: Promise<void> = one(message).finally(() => running.delete(work));
    running.add(work);
  };
  const take = async (): Promise<void> => {
    const free = topUp.slots - running.size;
    if (free <= 0 || !admits(topUp, remainingMs())) return;
    try {
      for (const message of await queue.receive(topUp.queue, free, hiddenMs(remainingMs()))) begin(decoded(message));
    } catch (e) {
      log.warn("no more taken in", failureFields(e));
    }
  };
  // An event of another queue, or one that was all of one kind of work: those slots are for what it brought.
  const ours = first.every((message) => message.queue === topUp.queue);
  for (const message of first) begin(message);
  while (running.size > 0) {
    await Promise.race([...running, pause(topUp, running)]);
    if (ours) await take();
  }
}

/** Until it is time to ask again. It ends with the work, so that no timer outlives the invocation. */
async function pause(topUp: TopUp, running: ReadonlySet<Promise<void>>): Promise<void> {
  const done = new AbortController();
  void Promise.race(running).finally(() => done.abort());
  await topUp.sleep(TOP_UP_EVERY_MS, done.signal);
}

const admits = ({ heapPercent = usedHeapPercent }: TopUp, leftMs: number): boolean =>
  leftMs > TOP_UP_UNTIL_MS && heapPercent() < ADMISSION_HEAP_PERCENT;

/** As the queue hides what it hands to Lambda: until this invocation must have ended. */
const hiddenMs = (leftMs: number): number => Math.min(leftMs, TASK_INVOCATION_MS) + VISIBILITY_MARGIN_MS;

function usedHeapPercent(): number {
  const { used_heap_size, heap_size_limit } = getHeapStatistics();
  return (100 * used_heap_size) / heap_size_limit;
}
