// Hints between workers (I9): any may be lost, doubled, delayed or reordered. Twins: adapters/queue/postgres.ts, and SQS on AWS.
import type { Json } from "../core/json.ts";

export type QueueName = "ticks" | "tasks-short" | "tasks-long" | "tasks-solo";
export const QUEUE_NAMES: readonly QueueName[] = ["ticks", "tasks-short", "tasks-long", "tasks-solo"];

/** Ids only: the truth is in the log. `taskId` null asks for a tick of the run. */
export interface Hint {
  readonly agent: string;
  readonly runId: string;
  readonly taskId: string | null;
  /** W3C Trace Context of the span that sent it; left out: nobody traces, or an older version sent it. Never decides what is done. */
  readonly traceparent?: string;
}

export interface Outgoing {
  readonly queue: QueueName;
  readonly hint: Hint;
  /** Not visible before. At most 15 minutes, as SQS has it. */
  readonly delayMs?: number;
  /** While an unclaimed message with this key waits in the queue, another is dropped. Best effort: SQS standard queues don't know it. */
  readonly dedupeKey?: string;
}

export interface Received {
  readonly queue: QueueName;
  readonly messageId: string;
  /** Names this receive; a later receive of the same message has another. */
  readonly receipt: string;
  readonly body: string;
  /** 1 at the first receive. */
  readonly receiveCount: number;
}

export interface Queue {
  /** At least once; order isn't kept. */
  send(messages: readonly Outgoing[]): Promise<void>;
  /** Hides what it returns for `visibilityMs`. Returns at once, also with nothing. Messages received too often go to the dead letters instead. */
  receive(queue: QueueName, max: number, visibilityMs: number): Promise<Received[]>;
  /** Idempotent; a receipt that has been overtaken by a later receive changes nothing. */
  delete(queue: QueueName, receipts: readonly string[]): Promise<void>;
  /** Makes a message visible after `afterMs`. */
  release(queue: QueueName, receipt: string, afterMs: number): Promise<void>;
  /** Dead letters not yet recorded, at most `max`; hidden like received ones, deleted by `deleteDead`. */
  receiveDead(max: number, visibilityMs: number): Promise<Received[]>;
  deleteDead(receipts: readonly string[]): Promise<void>;
  /** Calls back when messages may have come (best effort: in-process sends and the database's notifications). Returns how to stop. */
  onArrival(wake: (queue: QueueName) => void): () => void;
}

/** How many messages lie in a queue. */
export interface QueueDepth {
  readonly queue: QueueName;
  /** Could be received now. */
  readonly waiting: number;
  /** Received and not deleted yet. */
  readonly hidden: number;
  /** Their time hasn't come. */
  readonly delayed: number;
}

/** A message that was received too often. The stream behind it is unharmed: its clock brings the guardian. */
export interface DeadLetter {
  readonly messageId: string;
  readonly queue: QueueName;
  readonly body: string;
  readonly receiveCount: number;
}

/** Where dead letters are kept for people to look at, whichever queue they come from. */
export interface DeadLetters {
  /** Idempotent by message id; durable when it resolves. */
  record(letters: readonly DeadLetter[]): Promise<void>;
  /** Newest first; `before` is the cursor of the page before. @throws TorenError `request.invalid`: it is none. */
  page(before: string | null, limit: number): Promise<{ letters: KeptLetter[]; next: string | null }>;
  get(messageId: string): Promise<KeptLetter | null>;
  /** False: there was none. */
  drop(messageId: string): Promise<boolean>;
}

/** `body`: as it came, or as text where it wasn't JSON. */
export type KeptLetter = Omit<DeadLetter, "body"> & { readonly body: Json; readonly recordedAt: number };
