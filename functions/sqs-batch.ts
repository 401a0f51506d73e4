// What the queue-fed handlers share: messages read before the work, logged after it, acknowledged one by one as they settle.
import type { MiddlewareObj } from "@middy/core";
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import * as z from "zod";
import { messageOf, TorenError } from "../shared/core/errors.ts";
import { NACK_MS, QUEUE_BACKOFF_MAX_MS, QUEUE_BACKOFF_MS } from "../shared/core/limits.ts";
import type { Circumstances, Worked } from "../shared/engine/deps.ts";
import type { Log, LogFields } from "../shared/ports/log.ts";
import { type Hint, QUEUE_NAMES, type Queue, type QueueName } from "../shared/ports/queue.ts";

/** As Lambda calls it, and the pump on a laptop. */
export type SqsHandler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

/** Unknown fields pass: a newer version may send more to older workers. */
const hintSchema = z.object({
  agent: z.string().regex(/^[a-z][a-z0-9_]{0,40}$/),
  runId: z.guid(),
  taskId: z
    .string()
    .regex(/^w\d+t\d+$/)
    .nullable(),
});

/** A message of an event. `hint` null: nobody can work on it, for the reason in `problem`. */
export interface Arrived {
  readonly queue: QueueName;
  readonly messageId: string;
  readonly receipt: string;
  readonly receiveCount: number;
  readonly hint: Hint | null;
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

/** Middleware: one line an invocation that failed as a whole; single messages have lines of their own. */
export const logFailure = (log: Log, handler: string): MiddlewareObj => ({
  onError: (request) => {
    log.error("handler failed", { handler, requestId: request.context.awsRequestId, ...failureFields(request.error) });
  },
});

function arrivedOf(record: SQSRecord): Arrived {
  return {
    queue: queueOf(record.eventSourceARN),
    messageId: record.messageId,
    receipt: record.receiptHandle,
    receiveCount: Number(record.attributes.ApproximateReceiveCount),
    ...decoded(record.body),
  };
}

function decoded(body: string): { hint: Hint | null; problem: string } {
  try {
    const parsed = hintSchema.safeParse(JSON.parse(body));
    return parsed.success
      ? { hint: parsed.data, problem: "" }
      : { hint: null, problem: z.prettifyError(parsed.error).replaceAll("\n", " ") };
  } catch (e) {
    return { hint: null, problem: messageOf(e) };
  }
}

/** Physical names on AWS hold ours: `Toren-tasks-short-1A2B`. */
export function queueOf(arn: string): QueueName {
  const name = arn.slice(arn.lastIndexOf(":") + 1);
  const queue = QUEUE_NAMES.find((q) => q === name) ?? QUEUE_NAMES.find((q) => name.includes(q));
  if (queue === undefined) throw new TorenError("bug", `${arn} is none of our queues`);
  return queue;
}

export interface Consumer {
  readonly queue: Queue;
  readonly log: Log;
  /** Aborts when the worker is asked to stop. */
  readonly stop: AbortSignal;
  /** Every outcome acknowledges the message; what it throws makes the message come again. */
  work(hint: Hint, at: Circumstances): Promise<Worked>;
}

/**
 * Works on all messages of the event at once (`tasks-solo`: one after the other), and deletes each as it settles: a slow neighbour, or an invocation that
 * ends early, repeats nothing. The answer names those that failed; they are hidden for a while first, longer each time.
 */
export async function consume(consumer: Consumer, event: HintEvent, context: Context): Promise<SQSBatchResponse> {
  const failed: string[] = [];
  const one = async (message: Arrived): Promise<void> => {
    const at = {
      solo: message.queue === "tasks-solo",
      remainingMs: () => context.getRemainingTimeInMillis(),
      stop: consumer.stop,
    };
    if (!(await settle(consumer, message, at))) failed.push(message.messageId);
  };
  const arrived = event.arrived ?? [];
  const alone = arrived.filter((m) => m.queue === "tasks-solo");
  await Promise.all(arrived.filter((m) => m.queue !== "tasks-solo").map(one));
  for (const message of alone) await one(message);
  return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) };
}

async function settle(consumer: Consumer, message: Arrived, at: Circumstances): Promise<boolean> {
  const { log, queue } = consumer;
  const { hint, messageId, receiveCount } = message;
  const fields = { queue: message.queue, messageId, receiveCount, ...hint };
  const attempt = async (): Promise<boolean> => {
    if (hint === null) {
      log.warn("message not understood", { ...fields, problem: message.problem });
      return await hide(NACK_MS); // no wait makes it better
    }
    const started = performance.now();
    try {
      const worked = await consumer.work(hint, at);
      log.info("worked", { ...fields, worked, ms: Math.round(performance.now() - started) });
    } catch (e) {
      log.warn("message failed", { ...fields, ...failureFields(e) });
      return await hide(backoffMs(receiveCount));
    }
    // If this fails the message comes again, finds its stream settled, and goes.
    await queue
      .delete(message.queue, [message.receipt])
      .catch((e) => log.warn("not deleted", { ...fields, ...failureFields(e) }));
    return true;
  };
  const hide = async (ms: number): Promise<false> => {
    // If this fails the visibility time-out does the same, later.
    await queue.release(message.queue, message.receipt, ms).catch(() => {});
    return false;
  };
  return await attempt();
}

/** 1 s, 3 s, 9 s, 27 s, then 30 s. */
export const backoffMs = (receiveCount: number): number =>
  Math.min(QUEUE_BACKOFF_MS * 3 ** (Math.max(1, receiveCount) - 1), QUEUE_BACKOFF_MAX_MS);

/** For the log. What isn't an error of ours is a bug: its name and message are what there is to find it by. What authors' code throws never comes here. */
export function failureFields(thrown: unknown): LogFields {
  if (thrown instanceof TorenError) return { code: thrown.code, error: thrown.message };
  return { code: "bug", error: thrown instanceof Error ? `${thrown.name}: ${messageOf(thrown)}` : typeof thrown };
}
