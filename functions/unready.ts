// A worker that can't compose itself, as while the database restarts: its messages come again soon, not only when their visibility has run out.
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { arrivedOf } from "./arrived.ts";
import { queueOf } from "./aws.ts";
import { failureFields } from "./failures.ts";
import type { Unready } from "./lambda.ts";
import { backoffMs } from "./sqs-batch.ts";

/** All of the event failed; each is hidden for as long as one that failed by itself. @throws TorenError `environment.incomplete`. */
export async function giveBack({ event, env, log }: Unready<SQSEvent>): Promise<SQSBatchResponse> {
  const queue = queueOf(env);
  const arrived = event.Records.map(arrivedOf);
  const released = await Promise.allSettled(
    arrived.map((message) => queue.release(message.queue, message.receipt, backoffMs(message.receiveCount))),
  );
  for (const one of released) if (one.status === "rejected") log.warn("not released", failureFields(one.reason));
  return { batchItemFailures: arrived.map(({ messageId }) => ({ itemIdentifier: messageId })) };
}
