// How many messages wait in a queue of SQS: approximately, as SQS counts.
import type { SQSClient } from "@aws-sdk/client-sqs";
import { messageOf, TorenError } from "../../core/errors.ts";
import { QUEUE_NAMES, type QueueDepth, type QueueName } from "../../ports/queue.ts";
import { CALLS } from "../aws/calls.ts";

export type Depth = Omit<QueueDepth, "queue">;

/** Of every queue, a call each. @throws TorenError `queue.unavailable`. */
export const depthsOf = (urls: Readonly<Record<QueueName, string>>): Promise<QueueDepth[]> =>
  Promise.all(QUEUE_NAMES.map(async (queue) => ({ queue, ...(await depthOf(urls[queue])) })));

/** @throws TorenError `queue.unavailable`. */
export async function depthOf(queueUrl: string): Promise<Depth> {
  const { SQSClient, GetQueueAttributesCommand } = await import("@aws-sdk/client-sqs");
  client ??= new SQSClient(CALLS);
  try {
    const { Attributes = {} } = await client.send(
      new GetQueueAttributesCommand({
        QueueUrl: queueUrl,
        AttributeNames: [
          "ApproximateNumberOfMessages",
          "ApproximateNumberOfMessagesNotVisible",
          "ApproximateNumberOfMessagesDelayed",
        ],
      }),
    );
    return {
      waiting: Number(Attributes.ApproximateNumberOfMessages ?? 0),
      hidden: Number(Attributes.ApproximateNumberOfMessagesNotVisible ?? 0),
      delayed: Number(Attributes.ApproximateNumberOfMessagesDelayed ?? 0),
    };
  } catch (e) {
    throw new TorenError("queue.unavailable", `SQS didn't say how long its queue is: ${messageOf(e)}`, { cause: e });
  }
}

let client: SQSClient | undefined;
