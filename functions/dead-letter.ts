// The dead-letter queue: each message becomes a row that people can find. Its stream is unharmed and gets a new hint from the guardian.
import middy from "@middy/core";
import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import type { Log, LogFields } from "../shared/ports/log.ts";
import type { DeadLetter, DeadLetters } from "../shared/ports/queue.ts";
import { decoded, queueOf } from "./arrived.ts";
import { failureFields, logFailure } from "./failures.ts";
import type { SqsHandler } from "./sqs-batch.ts";

export interface DeadLetterDeps {
  readonly deadLetters: Pick<DeadLetters, "record">;
  readonly log: Log;
}

export function createDeadLetterHandler({ deadLetters, log }: DeadLetterDeps): SqsHandler {
  return middy<SQSEvent, SQSBatchResponse>({ timeoutEarlyInMillis: 0 })
    .use(logFailure(log, "dead-letter"))
    .handler(async (event) => {
      const failed: string[] = [];
      for (const record of event.Records) {
        const { messageId } = record;
        try {
          const letter = letterOf(record);
          await deadLetters.record([letter]);
          log.error("dead letter", {
            queue: letter.queue,
            messageId,
            receiveCount: letter.receiveCount,
            ...idsOf(record.body),
          });
        } catch (e) {
          log.error("dead letter not recorded", { messageId, ...failureFields(e) });
          failed.push(messageId);
        }
      }
      return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) };
    });
}

/** Whose it was, if it can be read. */
function idsOf(body: string): LogFields {
  const { hint } = decoded({ queue: "ticks", messageId: "", receipt: "", receiveCount: 0, body });
  return hint === null ? {} : { agent: hint.agent, runId: hint.runId, taskId: hint.taskId };
}

/** SQS says in an attribute which queue a dead letter comes from. */
function letterOf(record: SQSRecord): DeadLetter {
  const { attributes } = record;
  return {
    messageId: record.messageId,
    queue: queueOf(attributes.DeadLetterQueueSourceArn ?? record.eventSourceARN),
    body: record.body,
    receiveCount: Number(attributes.ApproximateReceiveCount),
  };
}
