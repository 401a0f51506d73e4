// Tells that messages may have come: at once to this process, by NOTIFY to others. Best effort: whoever waits also asks now and then.
import { randomUUID } from "node:crypto";
import pg, { type Client } from "pg";
import { messageOf } from "../../core/errors.ts";
import { LISTEN_RETRY_MS, NOTIFY_GATHER_MS } from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import type { Log } from "../../ports/log.ts";
import { QUEUE_NAMES, type QueueName } from "../../ports/queue.ts";
import { QUERIES } from "../../sql/queries.ts";
import { connectionConfig, keepsProcess, untilClosed } from "../database/pools.ts";

const CHANNEL = "toren_hints";

export interface Arrivals {
  now(queue: QueueName): void;
  /** For messages that show soon: sooner than the next regular look. */
  later(queue: QueueName, afterMs: number): void;
  subscribe(wake: (queue: QueueName) => void): () => void;
  close(): Promise<void>;
}

export function createArrivals(database: Database, log: Log): Arrivals {
  const origin = randomUUID();
  const wakers = new Set<(queue: QueueName) => void>();
  const timers = new Set<NodeJS.Timeout>();
  const wake = (queue: QueueName): void => {
    for (const waker of wakers) waker(queue);
  };
  const notifier = createNotifier(database, origin);
  let listener: { close(): Promise<void> } | null = null;
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
      listener ??= listen(database.url, heard, () => QUEUE_NAMES.forEach(wake), log);
      return () => wakers.delete(waker);
    },
    close: async () => {
      for (const timer of timers) clearTimeout(timer);
      wakers.clear();
      await untilClosed([notifier.close(), listener?.close() ?? Promise.resolve()]);
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
      await database.pool.query(QUERIES["notify-hints"], [CHANNEL, payloads]);
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

/** A connection of its own that listens for as long as it takes; `again` is called whenever notifications may have been missed. */
function listen(
  url: string,
  heard: (payload: string) => void,
  again: () => void,
  log: Log,
): { close(): Promise<void> } {
  let client: Client | null = null;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let away = false;
  const connect = async (): Promise<void> => {
    if (closed) return;
    const fresh = new pg.Client({ ...connectionConfig(url), application_name: "toren listener" });
    client = fresh;
    fresh.on("error", () => {});
    fresh.on("notification", (n) => heard(n.payload ?? ""));
    try {
      await fresh.connect();
      await fresh.query(`LISTEN ${CHANNEL}`);
      keepsProcess(fresh, false);
      fresh.once("end", retry);
      away = false;
      again();
    } catch (e) {
      if (!away && !closed) log.warn("not listening for messages, asking instead", { error: messageOf(e) });
      away = true;
      await fresh.end().catch(() => {});
      retry();
    }
  };
  const retry = (): void => {
    if (closed) return;
    timer = setTimeout(connect, LISTEN_RETRY_MS);
    timer.unref();
  };
  const first = connect();
  return {
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await first;
      await client?.end().catch(() => {});
    },
  };
}
