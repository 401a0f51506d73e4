// Queues on the emulator as cdk/queues.ts deploys them, each with a name of its own.
import { randomUUID } from "node:crypto";
import {
  CreateQueueCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  PurgeQueueCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { RECEIVES_MAX } from "../../../shared/core/limits.ts";
import { QUEUE_NAMES, type QueueName } from "../../../shared/ports/queue.ts";

export interface TestQueues {
  readonly urls: Readonly<Record<QueueName, string>>;
  readonly deadUrl: string;
  empty(): Promise<void>;
  drop(): Promise<void>;
}

export async function createQueues(visibilityS = 60): Promise<TestQueues> {
  const sqs = new SQSClient({});
  const prefix = `toren-${randomUUID().slice(0, 8)}`;
  const create = async (name: string, attributes: Record<string, string>): Promise<string> => {
    const created = await sqs.send(new CreateQueueCommand({ QueueName: `${prefix}-${name}`, Attributes: attributes }));
    if (created.QueueUrl === undefined) throw new Error(`no queue ${name} was made`);
    return created.QueueUrl;
  };
  const deadUrl = await create("dead-letters", {});
  const deadLetterTargetArn = await arnOf(sqs, deadUrl);
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: RECEIVES_MAX });
  const entries: [QueueName, string][] = [];
  for (const name of QUEUE_NAMES)
    entries.push([name, await create(name, { VisibilityTimeout: String(visibilityS), RedrivePolicy })]);
  const all = [...entries.map(([, url]) => url), deadUrl];
  const each = (work: (QueueUrl: string) => Promise<unknown>) => Promise.all(all.map(work)).then(() => {});
  return {
    urls: Object.fromEntries(entries) as Record<QueueName, string>,
    deadUrl,
    empty: () => each((QueueUrl) => sqs.send(new PurgeQueueCommand({ QueueUrl }))),
    drop: () => each((QueueUrl) => sqs.send(new DeleteQueueCommand({ QueueUrl }))),
  };
}

export async function arnOf(sqs: SQSClient, QueueUrl: string): Promise<string> {
  const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["QueueArn"] }));
  const arn = Attributes?.QueueArn;
  if (arn === undefined) throw new Error(`${QueueUrl} has no ARN`);
  return arn;
}
