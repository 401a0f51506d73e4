// The queue in SQS: four standard queues and one for dead letters. Twin on a laptop: postgres.ts, which keeps SQS' words and rules.
// The SDK is loaded at the first call: a function that only reads a row doesn't pay for it.
import type * as sdkTypes from "@aws-sdk/client-sqs";
import type { Message, SendMessageBatchRequestEntry, SQSClient } from "@aws-sdk/client-sqs";
import { messageOf, TorenError } from "../../core/errors.ts";
import { QUEUE_BATCH_MESSAGES, QUEUE_DELAY_MAX_MS, QUEUE_SEND_TRIES } from "../../core/limits.ts";
import { type Outgoing, QUEUE_NAMES, type Queue, type QueueName, type Received } from "../../ports/queue.ts";
import { CALLS } from "../aws/calls.ts";

export interface SqsQueueOptions {
  /** Where the queues are, by their URLs. */
  readonly urls: Readonly<Record<QueueName, string>>;
  readonly deadUrl: string;
}

type Sdk = typeof sdkTypes;

/** Region, endpoint and credentials come from the environment, as every AWS client has them. */
export function createSqsQueue({ urls, deadUrl }: SqsQueueOptions): Queue {
  const wakers = new Set<(queue: QueueName) => void>();
  let loaded: Promise<{ sdk: Sdk; client: SQSClient }> | undefined;
  const aws = () => {
    loaded ??= import("@aws-sdk/client-sqs").then((sdk) => ({ sdk, client: new sdk.SQSClient(CALLS) }));
    return loaded;
  };
  const remove = (url: string, receipts: readonly string[]) =>
    each(batches(receipts), async (batch) => {
      const { sdk, client } = await aws();
      const Entries = batch.map((ReceiptHandle, i) => ({ Id: String(i), ReceiptHandle }));
      await unlessGone(async () => {
        const { Failed = [] } = await client.send(new sdk.DeleteMessageBatchCommand({ QueueUrl: url, Entries }));
        const ours = Failed.find((failure) => !GONE.test(failure.Code ?? ""));
        if (ours !== undefined) throw away(wordsOf(ours));
      });
    });
  const take = async (url: string, max: number, visibilityMs: number): Promise<Message[]> => {
    const { sdk, client } = await aws();
    const command = new sdk.ReceiveMessageCommand({
      QueueUrl: url,
      MaxNumberOfMessages: Math.min(max, QUEUE_BATCH_MESSAGES),
      VisibilityTimeout: seconds(visibilityMs),
      WaitTimeSeconds: 0,
      MessageSystemAttributeNames: ["ApproximateReceiveCount", "DeadLetterQueueSourceArn"],
    });
    return (await asked(() => client.send(command))).Messages ?? [];
  };
  /** Until there is enough, or a request brings less than it asked for: more may be there, and the next call finds it. */
  const receiveUpTo = async (url: string, max: number, visibilityMs: number): Promise<Message[]> => {
    const messages: Message[] = [];
    for (let got = QUEUE_BATCH_MESSAGES; got === QUEUE_BATCH_MESSAGES && messages.length < max; ) {
      const more = await take(url, max - messages.length, visibilityMs);
      messages.push(...more);
      got = more.length;
    }
    return messages;
  };
  return {
    send: async (messages) => {
      const { sdk, client } = await aws();
      for (const queue of QUEUE_NAMES) {
        const mine = withoutTwins(messages.filter((m) => m.queue === queue));
        await each(batches(mine), (batch) => sendBatch(sdk, client, urls[queue], batch));
        if (mine.some((m) => (m.delayMs ?? 0) === 0)) for (const wake of wakers) wake(queue);
      }
    },
    receive: async (queue, max, visibilityMs) =>
      (await receiveUpTo(urls[queue], max, visibilityMs)).map((m) => received(m, queue)),
    delete: (queue, receipts) => remove(urls[queue], receipts),
    release: async (queue, receipt, afterMs) => {
      const { sdk, client } = await aws();
      const command = { QueueUrl: urls[queue], ReceiptHandle: receipt, VisibilityTimeout: seconds(afterMs) };
      await unlessGone(() => client.send(new sdk.ChangeMessageVisibilityCommand(command)));
    },
    receiveDead: async (max, visibilityMs) =>
      (await receiveUpTo(deadUrl, max, visibilityMs)).map((m) => received(m, sourceOf(m, urls))),
    deleteDead: (receipts) => remove(deadUrl, receipts),
    // What others send is found by asking: SQS tells nobody.
    onArrival: (wake) => {
      wakers.add(wake);
      return () => wakers.delete(wake);
    },
  };
}

/** What SQS refuses as its own failure (a throttle) is sent again, a few times. */
async function sendBatch(sdk: Sdk, client: SQSClient, QueueUrl: string, batch: readonly Outgoing[]): Promise<void> {
  let entries: SendMessageBatchRequestEntry[] = batch.map((m, i) => ({
    Id: String(i),
    MessageBody: JSON.stringify(m.hint),
    DelaySeconds: seconds(Math.min(m.delayMs ?? 0, QUEUE_DELAY_MAX_MS)),
  }));
  for (let tries = 1; ; tries++) {
    const command = new sdk.SendMessageBatchCommand({ QueueUrl, Entries: entries });
    const { Failed = [] } = await asked(() => client.send(command));
    if (Failed.length === 0) return;
    const failed = new Set(Failed.map((failure) => failure.Id));
    entries = entries.filter((entry) => failed.has(entry.Id));
    if (tries === QUEUE_SEND_TRIES || Failed.some((f) => f.SenderFault)) throw away(wordsOf(Failed[0] ?? {}));
  }
}

/** SQS has whole seconds. Never sooner than asked: a hint that comes before its time finds nothing due. */
const seconds = (ms: number): number => Math.ceil(Math.max(0, ms) / 1_000);

function batches<T>(all: readonly T[]): T[][] {
  const parts: T[][] = [];
  for (let i = 0; i < all.length; i += QUEUE_BATCH_MESSAGES) parts.push(all.slice(i, i + QUEUE_BATCH_MESSAGES));
  return parts;
}

const each = async <T>(parts: readonly T[], work: (part: T) => Promise<void>): Promise<void> => {
  await Promise.all(parts.map(work));
};

/** Standard queues know no deduplication; within one batch it costs nothing. The soonest stays. */
function withoutTwins(messages: readonly Outgoing[]): Outgoing[] {
  const kept = new Map<string, Outgoing>();
  for (const [i, message] of messages.entries()) {
    const key = message.dedupeKey ?? `${i}`;
    const twin = kept.get(key);
    if (twin === undefined || (message.delayMs ?? 0) < (twin.delayMs ?? 0)) kept.set(key, message);
  }
  return [...kept.values()];
}

const received = (m: Message, queue: QueueName): Received => ({
  queue,
  messageId: m.MessageId ?? "",
  receipt: m.ReceiptHandle ?? "",
  body: m.Body ?? "",
  receiveCount: Number(m.Attributes?.ApproximateReceiveCount ?? 1),
});

/** A dead letter says by its attribute where it comes from; a queue's ARN and its URL end in the same name. */
function sourceOf(m: Message, urls: SqsQueueOptions["urls"]): QueueName {
  const name = (m.Attributes?.DeadLetterQueueSourceArn ?? "").split(":").at(-1);
  return QUEUE_NAMES.find((queue) => urls[queue].split("/").at(-1) === name) ?? "ticks";
}

// A receipt that was overtaken, or never was one: the message is somebody else's by now.
const GONE = /ReceiptHandleIsInvalid|MessageNotInflight|InvalidParameterValue|InvalidAddress|EmptyBatchRequest/;

async function unlessGone(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (e) {
    if (e instanceof TorenError) throw e;
    if (!GONE.test(`${(e as Error).name} ${messageOf(e)}`)) throw away(messageOf(e), e);
  }
}

async function asked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (e) {
    throw away(messageOf(e), e);
  }
}

interface Refusal {
  readonly Code?: string | undefined;
  readonly Message?: string | undefined;
}
const wordsOf = ({ Code, Message: said }: Refusal): string => `${Code ?? "failed"}: ${said ?? "SQS gave no reason"}`;

const away = (why: string, cause?: unknown): TorenError =>
  new TorenError("queue.unavailable", `SQS didn't take the request: ${why}`, { cause });
