// The queue in Postgres: rows claimed by FOR UPDATE SKIP LOCKED, hidden for a while, deleted when done. Twin on AWS: SQS, whose words and rules it keeps.
import { randomUUID } from "node:crypto";
import { QUEUE_DELAY_MAX_MS, QUEUE_POLL_MS, RECEIVES_MAX } from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import type { Log } from "../../ports/log.ts";
import { type Outgoing, QUEUE_NAMES, type Queue, type QueueName, type Received } from "../../ports/queue.ts";
import { QUERIES, type Verb } from "../../sql/queries.ts";
import { repeatedOnce } from "../database/failures.ts";
import type { Notices } from "../database/notices.ts";
import { type Arrivals, createArrivals } from "./arrivals.ts";

export interface PostgresQueue extends Queue {
  /** Ends the listening connection and all timers. Messages stay. */
  close(): Promise<void>;
}

interface Row {
  readonly queue: QueueName;
  readonly id: string;
  readonly receipt: string;
  readonly receive_count: number;
  readonly body: string;
  readonly dead: boolean;
}

export interface PostgresQueueOptions {
  readonly database: Database;
  readonly log: Log;
  /** Left out: it has a listening connection of its own. */
  readonly notices?: Notices;
}

export function createPostgresQueue({ database, log, notices }: PostgresQueueOptions): PostgresQueue {
  const arrivals = createArrivals(database, log, notices);
  // Not prepared: a plan made while the queue was empty, as it mostly is, would stay when it is long.
  const ask = async <R>(verb: Verb, values: unknown[]): Promise<R[]> => {
    const result = await repeatedOnce(() => database.pool.query(QUERIES[verb], values));
    return result.rows as R[];
  };
  const remove = async (receipts: readonly string[], dead: boolean): Promise<void> => {
    const known = receipts.map(parseReceipt).filter((r) => r !== null);
    if (known.length > 0) await ask("delete-hints", [known.map((r) => r.id), known.map((r) => r.receipt), dead]);
  };
  return {
    send: async (messages) => {
      if (messages.length === 0) return;
      const distinct = withoutTwins(messages);
      const queues = distinct.map((m) => m.queue);
      const bodies = distinct.map((m) => JSON.stringify(m.hint));
      await ask("send-hints", [queues, bodies, distinct.map((m) => m.dedupeKey ?? null), distinct.map(delayOf)]);
      announce(arrivals, distinct);
    },
    receive: async (queue, max, visibilityMs) => {
      const rows = await ask<Row>("receive-hints", [queue, max, visibilityMs, RECEIVES_MAX]);
      return rows.filter((row) => !row.dead).map((row) => received({ ...row, queue }));
    },
    delete: (_, receipts) => remove(receipts, false),
    release: async (queue, receipt, afterMs) => {
      const known = parseReceipt(receipt);
      if (known === null) return;
      await ask("release-hint", [known.id, known.receipt, afterMs]);
      if (afterMs <= QUEUE_POLL_MS) arrivals.later(queue, afterMs);
    },
    receiveDead: async (max, visibilityMs) => (await ask<Row>("receive-dead", [max, visibilityMs])).map(received),
    deleteDead: (receipts) => remove(receipts, true),
    onArrival: (wake) => arrivals.subscribe(wake),
    close: () => arrivals.close(),
  };
}

const delayOf = (m: Outgoing): number => Math.min(m.delayMs ?? 0, QUEUE_DELAY_MAX_MS);

/** One statement can't touch a row twice: of several with one key the soonest stays. */
function withoutTwins(messages: readonly Outgoing[]): Outgoing[] {
  const kept = new Map<string, Outgoing>();
  for (const message of messages) {
    const key = message.dedupeKey === undefined ? randomUUID() : `${message.queue} ${message.dedupeKey}`;
    const twin = kept.get(key);
    if (twin === undefined || delayOf(message) < delayOf(twin)) kept.set(key, message);
  }
  return [...kept.values()];
}

function announce(arrivals: Arrivals, messages: readonly Outgoing[]): void {
  for (const queue of QUEUE_NAMES) {
    const delays = messages.filter((m) => m.queue === queue).map(delayOf);
    if (delays.includes(0)) arrivals.now(queue);
    const soonest = Math.min(...delays.filter((ms) => ms > 0));
    if (soonest <= QUEUE_POLL_MS) arrivals.later(queue, soonest);
  }
}

const received = (row: Row): Received => ({
  queue: row.queue,
  messageId: row.id,
  receipt: `${row.id}.${row.receipt}`,
  body: row.body,
  receiveCount: row.receive_count,
});

const RECEIPT = /^(\d{1,18})\.([0-9a-f-]{36})$/;

/** Null for what was never a receipt of ours: it names no message. */
function parseReceipt(receipt: string): { id: string; receipt: string } | null {
  const [, id, uuid] = RECEIPT.exec(receipt) ?? [];
  return id === undefined || uuid === undefined ? null : { id, receipt: uuid };
}
