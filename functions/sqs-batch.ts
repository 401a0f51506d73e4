// What the queue-fed handlers share: messages worked on at once, acknowledged one by one as they settle, a line in the log for each.
import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { CUT_OFF_MS, NACK_MS, QUEUE_BACKOFF_MAX_MS, QUEUE_BACKOFF_MS } from "../shared/core/limits.ts";
import type { Circumstances, Worked } from "../shared/engine/deps.ts";
import { traceWork } from "../shared/engine/spans.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Hint, Queue } from "../shared/ports/queue.ts";
import type { TraceStore } from "../shared/ports/store.ts";
import type { Arrived, HintEvent } from "./arrived.ts";
import { failureFields } from "./failures.ts";
import { type TopUp, workAndTopUp } from "./top-up.ts";

/** As Lambda calls it, and the pump on a laptop. */
export type SqsHandler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

export interface Consumer {
  readonly queue: Queue;
  readonly log: Log;
  /** Aborts when the worker is asked to stop. */
  readonly stop: AbortSignal;
  /** Every outcome acknowledges the message; what it throws makes the message come again. */
  work(hint: Hint, at: Circumstances): Promise<Worked>;
  /** Sends on what came before its time. Left out: nothing does. */
  sendOn?(hint: Hint, dueAt: number): Promise<void>;
  /** Takes more into free slots while others work; left out: whoever calls does that. */
  readonly topUp?: TopUp;
  /** Where the trace is found that the work belongs to. */
  readonly traces: TraceStore;
}

/**
 * Works on all messages of the event at once (`tasks-solo`: one after the other), and deletes each as it settles: a slow neighbour, or an invocation that
 * ends early, repeats nothing. The answer names those of the event that failed; they are hidden for a while first, longer each time.
 */
export async function consume(consumer: Consumer, event: HintEvent, context: Context): Promise<SQSBatchResponse> {
  const failed: string[] = [];
  const deadline = deadlineOf(context);
  const one = async (message: Arrived): Promise<void> => {
    const at = {
      solo: message.queue === "tasks-solo",
      remainingMs: () => context.getRemainingTimeInMillis(),
      stop: consumer.stop,
      ...(deadline === null ? {} : { deadline: deadline.signal }),
    };
    if (!(await settle(consumer, message, at))) failed.push(message.messageId);
  };
  const arrived = event.arrived ?? [];
  const alone = arrived.filter((m) => m.queue === "tasks-solo");
  const together = arrived.filter((m) => m.queue !== "tasks-solo");
  if (consumer.topUp === undefined) await Promise.all(together.map(one));
  else await workAndTopUp(consumer, consumer.topUp, together, one, () => context.getRemainingTimeInMillis());
  for (const message of alone) await one(message);
  deadline?.clear(); // a frozen timer would ring at thaw
  const ofEvent = new Set(arrived.map((m) => m.messageId));
  return {
    batchItemFailures: failed.filter((id) => ofEvent.has(id)).map((itemIdentifier) => ({ itemIdentifier })),
  };
}

/** When what is under way is given up; null: nobody cuts this worker off. */
function deadlineOf(context: Context): { readonly signal: AbortSignal; clear(): void } | null {
  const leftMs = context.getRemainingTimeInMillis();
  if (!Number.isFinite(leftMs)) return null;
  const cut = new AbortController();
  const timer = setTimeout(() => cut.abort(), Math.max(0, leftMs - CUT_OFF_MS));
  return { signal: cut.signal, clear: () => clearTimeout(timer) };
}

/** Works on one message and acknowledges it, or hides it for a while. False: it failed. Never rejects. */
export async function settle(consumer: Consumer, message: Arrived, at: Circumstances): Promise<boolean> {
  const { log, queue } = consumer;
  const { hint, messageId, receiveCount, dueAt } = message;
  const fields = { queue: message.queue, messageId, receiveCount, ...idsOf(hint) };
  const hide = async (ms: number): Promise<false> => {
    // If this fails the visibility time-out does the same, later.
    await queue.release(message.queue, message.receipt, ms).catch(() => {});
    return false;
  };
  if (hint === null) {
    log.warn("message not understood", { ...fields, problem: message.problem });
    return await hide(NACK_MS); // no wait makes it better
  }
  // Its line in the log is written within its span, whose ids the line carries.
  const work = async (): Promise<Worked | "sentOn"> => {
    const started = performance.now();
    try {
      const worked = await workOrSendOn(consumer, hint, dueAt, at);
      log.info("worked", { ...fields, worked, ms: Math.round(performance.now() - started) });
      return worked;
    } catch (e) {
      log.warn("message failed", { ...fields, ...failureFields(e) });
      throw e;
    }
  };
  try {
    await (dueAt === null ? traceWork(consumer.traces, hint, work) : work());
  } catch {
    return await hide(backoffMs(receiveCount));
  }
  // If this fails the message comes again, finds its stream settled, and goes.
  await queue
    .delete(message.queue, [message.receipt])
    .catch((e) => log.warn("not deleted", { ...fields, ...failureFields(e) }));
  return true;
}

const idsOf = (hint: Hint | null): Partial<Omit<Hint, "traceparent">> => {
  if (hint === null) return {};
  const { agent, runId, taskId } = hint;
  return { agent, runId, taskId };
};

async function workOrSendOn(
  { work, sendOn }: Consumer,
  hint: Hint,
  dueAt: number | null,
  at: Circumstances,
): Promise<Worked | "sentOn"> {
  if (dueAt === null || sendOn === undefined) return await work(hint, at);
  await sendOn(hint, dueAt);
  return "sentOn";
}

/** 1 s, 3 s, 9 s, 27 s, then 30 s. */
export const backoffMs = (receiveCount: number): number =>
  Math.min(QUEUE_BACKOFF_MS * 3 ** (Math.max(1, receiveCount) - 1), QUEUE_BACKOFF_MAX_MS);
