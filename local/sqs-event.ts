// A message of the Postgres queue in the shape in which Lambda gets one from SQS: the handlers can't tell the difference.
import { createHash } from "node:crypto";
import type { Context, SQSEvent } from "aws-lambda";
import type { QueueName, Received } from "../shared/ports/queue.ts";

const arnOf = (queue: QueueName | "dead-letters"): string => `arn:aws:sqs:local:000000000000:${queue}`;

/** `dead`: as the dead-letter queue hands it out, which says in an attribute where the message came from. */
export function toSqsEvent(messages: readonly Received[], dead = false): SQSEvent {
  const now = String(Date.now());
  return {
    Records: messages.map((message) => ({
      messageId: message.messageId,
      receiptHandle: message.receipt,
      body: message.body,
      attributes: {
        ApproximateReceiveCount: String(message.receiveCount),
        SentTimestamp: now,
        SenderId: "toren",
        ApproximateFirstReceiveTimestamp: now,
        ...(dead ? { DeadLetterQueueSourceArn: arnOf(message.queue) } : {}),
      },
      messageAttributes: {},
      md5OfBody: createHash("md5").update(message.body).digest("hex"),
      eventSource: "aws:sqs",
      eventSourceARN: arnOf(dead ? "dead-letters" : message.queue),
      awsRegion: "local",
    })),
  };
}

/** A laptop sets no time limit. */
export function localContext(functionName: string, requestId: string): Context {
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionName,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:local:000000000000:function:${functionName}`,
    memoryLimitInMB: "0",
    awsRequestId: requestId,
    logGroupName: functionName,
    logStreamName: requestId,
    getRemainingTimeInMillis: () => Number.POSITIVE_INFINITY,
    done: () => {},
    fail: () => {},
    succeed: () => {},
  };
}
