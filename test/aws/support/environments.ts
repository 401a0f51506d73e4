// Execution environments of the deployed functions beside the emulator's (environment.ts), and queues that nobody else reads: what is sent there only they work on.
import { join } from "node:path";
import { DeleteMessageCommand, ReceiveMessageCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { ACCOUNT, awsVariables, type Deployed, functionNamed, REGION } from "../../../local/aws/deploy.ts";
import { type FunctionName, functionOf } from "../../../local/aws/fit-template.ts";
import { TASK_INVOCATION_MS } from "../../../shared/core/limits.ts";
import type { QueueName } from "../../../shared/ports/queue.ts";
import { type ExecutionEnvironment, startEnvironment } from "./environment.ts";
import { environmentOf } from "./functions.ts";
import { createQueues } from "./sqs.ts";

/** The function's code as it was uploaded. */
export function bundleOf({ template }: Pick<Deployed, "template">, name: FunctionName): string {
  const [, code] = Object.entries(template.Resources).find(([id]) => functionOf(id) === name) ?? [];
  const { S3Key = "" } = (code?.Properties?.Code ?? {}) as { S3Key?: string };
  return join(process.env.TOREN_TEST_AWS_FOLDER ?? "", `stack/cdk.out/asset.${S3Key.replace(/\.zip$/, "")}`);
}

export interface Beside {
  /** Default: the function's code as it is deployed now. */
  readonly bundle?: string;
  /** Beside what the stack tells it. */
  readonly more?: Readonly<Record<string, string>>;
  /** Of each invocation. Default: what a task function has. */
  readonly timeoutMs?: number;
}

/** One more environment of a function. */
export async function environmentBeside(
  deployed: Deployed,
  name: FunctionName,
  { bundle = bundleOf(deployed, name), more = {}, timeoutMs = TASK_INVOCATION_MS }: Beside = {},
): Promise<ExecutionEnvironment> {
  const called = functionNamed(deployed, name);
  const own = { ...(await environmentOf(called)), ...awsVariables(process.env.AWS_ENDPOINT_URL ?? ""), ...more };
  // What works on other queues than its own needs other rights.
  const recorded = Object.keys(more).length === 0;
  return await startEnvironment({ name: called, recorded, bundle, variables: own, timeoutMs });
}

export interface OwnQueues {
  /** What functions are told. */
  readonly variables: Readonly<Record<string, string>>;
  send(queue: QueueName, body: string): Promise<void>;
  /** Hands up to ten messages that wait to the environment, as an event source mapping does. Null: there are none. */
  deliver(queue: QueueName, to: ExecutionEnvironment): Promise<SQSBatchResponse | null>;
  drop(): Promise<void>;
}

export async function createOwnQueues(): Promise<OwnQueues> {
  const sqs = new SQSClient({});
  const queues = await createQueues();
  const { urls, deadUrl } = queues;
  return {
    variables: {
      TOREN_QUEUE_TICKS_URL: urls.ticks,
      TOREN_QUEUE_TASKS_SHORT_URL: urls["tasks-short"],
      TOREN_QUEUE_TASKS_LONG_URL: urls["tasks-long"],
      TOREN_QUEUE_TASKS_SOLO_URL: urls["tasks-solo"],
      TOREN_QUEUE_DEAD_URL: deadUrl,
    },
    send: async (queue, MessageBody) => {
      await sqs.send(new SendMessageCommand({ QueueUrl: urls[queue], MessageBody }));
    },
    deliver: async (queue, to) => {
      const QueueUrl = urls[queue];
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, MessageSystemAttributeNames: ["All"] }),
      );
      if (Messages.length === 0) return null;
      const Records = Messages.map((message) => ({
        messageId: message.MessageId ?? "",
        receiptHandle: message.ReceiptHandle ?? "",
        body: message.Body ?? "",
        attributes: message.Attributes ?? {},
        messageAttributes: {},
        eventSource: "aws:sqs",
        eventSourceARN: `arn:aws:sqs:${REGION}:${ACCOUNT}:${QueueUrl.split("/").at(-1)}`,
        awsRegion: REGION,
      })) as unknown as SQSEvent["Records"];
      const answer = await to.invoke<SQSBatchResponse>({ Records });
      const failed = new Set(answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
      for (const { messageId, receiptHandle } of Records)
        if (!failed.has(messageId))
          await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: receiptHandle })).catch(() => {});
      return answer;
    },
    drop: queues.drop,
  };
}
