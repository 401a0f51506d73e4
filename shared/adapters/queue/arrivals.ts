// Tells that messages may have come: at once to this process, by NOTIFY to others. Best effort: whoever waits also asks now and then.
import { randomUUID } from "node:crypto";
import { NOTIFY_GATHER_MS } from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import type { Log } from "../../ports/log.ts";
import { QUEUE_NAMES, type QueueName } from "../../ports/queue.ts";
import { QUERIES } from "../../sql/queries.ts";
import { createNotices, type Notices } from "../database/notices.ts";
import { untilClosed } from "../database/pools.ts";

const CHANNEL = "toren_hints";

export interface Arrivals {
  now(queue: QueueName): void;
  /** For messages that show soon: sooner than the next regular look. */
  later(queue: QueueName, afterMs: number): void;
  subscribe(wake: (queue: QueueName) => void): () => void;
  close(): Promise<void>;
}

/** `notices`: the process' connection that listens, where it has one; else one of its own. */
export function createArrivals(database: Database, log: Log, notices?: Notices): Arrivals {
  const origin = randomUUID();
  const wakers = new Set<(queue: QueueName) => void>();
  const timers = new Set<NodeJS.Timeout>();
  const wake = (queue: QueueName): void => {
    for (const waker of wakers) waker(queue);
  };
  const notifier = createNotifier(database, origin);
  const own = notices === undefined ? createNotices(database, log) : null;
  let stop: (() => void) | undefined;
  const heard = (payload: string): void => {
    const [queue, from] = payload.split(" ");
    const known = QUEUE_NAMES.find((name) => name === queue);
    if (known !== undefined && from !== origin) wake(known);
  };
  return {
    now: (queue) => {
      wake(queue);
      notifier.notify(queue);
    },
    later: (queue, afterMs) => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        wake(queue);
      }, afterMs);
      timer.unref();
      timers.add(timer);
    },
    subscribe: (waker) => {
      wakers.add(waker);
      stop ??= (notices ?? own)?.on(CHANNEL, heard, () => QUEUE_NAMES.forEach(wake));
      return () => wakers.delete(waker);
    },
    close: async () => {
      for (const timer of timers) clearTimeout(timer);
      wakers.clear();
      stop?.();
      await untilClosed([notifier.close(), own?.close() ?? Promise.resolve()]);
    },
  };
}

/** Many sends, one notification: commits that notify wait for one another. */
function createNotifier(
  database: Database,
  origin: string,
): { notify(queue: QueueName): void; close(): Promise<void> } {
  const due = new Set<QueueName>();
  let sending: Promise<void> | null = null;
  const send = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, NOTIFY_GATHER_MS));
    const payloads = [...due].map((queue) => `${queue} ${origin}`);
    due.clear();
    try {
      await database.pool.query(QUERIES.notify, [payloads.map(() => CHANNEL), payloads]);
    } catch {
      // The others find the messages at their next look.
    }
    sending = null;
    if (due.size > 0) sending = send();
  };
  return {
    notify: (queue) => {
      due.add(queue);
      sending ??= send();
    },
    close: async () => {
      while (sending !== null) await sending;
    },
  };
}
