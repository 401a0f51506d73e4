// What came as messages, read before the work: ids and times. A body that can't be read fails alone.
import type { MiddlewareObj } from "@middy/core";
import type { SQSEvent, SQSRecord } from "aws-lambda";
import * as z from "zod";
import { messageOf, TorenError } from "../shared/core/errors.ts";
import { type Hint, QUEUE_NAMES, type QueueName, type Received } from "../shared/ports/queue.ts";

/** Unknown fields pass: a newer version may send more to older workers. */
const hintSchema = z.object({
  agent: z.string().regex(/^[a-z][a-z0-9_]{0,40}$/),
  runId: z.guid(),
  taskId: z
    .string()
    .regex(/^w\d+t\d+$/)
    .nullable(),
  /** Of a timer's message, which comes before its time: when it is due, in milliseconds since 1970 by the store's clock. */
  dueAt: z.number().optional(),
  /** A message is worked on whatever its trace looks like. */
  traceparent: z.string().max(100).optional().catch(undefined),
});

/** A message of an event. `hint` null: nobody can work on it, for the reason in `problem`. */
export interface Arrived {
  readonly queue: QueueName;
  readonly messageId: string;
  readonly receipt: string;
  readonly receiveCount: number;
  readonly hint: Hint | null;
  /** Not to be worked on before; null: at once. */
  readonly dueAt: number | null;
  readonly problem: string;
}
/** `arrived` is the middleware's: Lambda and the pump send plain events. */
export type HintEvent = SQSEvent & { readonly arrived?: readonly Arrived[] };

/** Middleware: reads all bodies before the work. One that can't be read fails alone, and becomes a dead letter in the end. */
export const decodeHints = (): MiddlewareObj<HintEvent> => ({
  before: (request) => {
    request.event = { ...request.event, arrived: request.event.Records.map(arrivedOf) };
  },
});

export const arrivedOf = (record: SQSRecord): Arrived =>
  decoded({
    queue: queueOf(record.eventSourceARN),
    messageId: record.messageId,
    receipt: record.receiptHandle,
    receiveCount: Number(record.attributes.ApproximateReceiveCount),
    body: record.body,
  });

/** Of a message that a handler received by itself. */
export function decoded({ body, ...message }: Received): Arrived {
  const unread = (problem: string): Arrived => ({ ...message, hint: null, dueAt: null, problem });
  try {
    const parsed = hintSchema.safeParse(JSON.parse(body));
    if (!parsed.success) return unread(z.prettifyError(parsed.error).replaceAll("\n", " "));
    const { dueAt = null, traceparent, ...ids } = parsed.data;
    const hint = { ...ids, ...(traceparent === undefined ? {} : { traceparent }) };
    return { ...message, hint, dueAt, problem: "" };
  } catch (e) {
    return unread(messageOf(e));
  }
}

/** Physical names on AWS hold ours: `Toren-tasks-short-1A2B`. */
export function queueOf(arn: string): QueueName {
  const name = arn.slice(arn.lastIndexOf(":") + 1);
  const queue = QUEUE_NAMES.find((q) => q === name) ?? QUEUE_NAMES.find((q) => name.includes(q));
  if (queue === undefined) throw new TorenError("bug", `${arn} is none of our queues`);
  return queue;
}
