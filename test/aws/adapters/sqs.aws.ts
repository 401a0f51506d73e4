import { afterAll, beforeAll } from "@jest/globals";
import { createSqsQueue } from "../../../shared/adapters/queue/sqs.ts";
import type { Queue } from "../../../shared/ports/queue.ts";
import { queueConformance } from "../../conformance/queue.ts";
import { createQueues, type TestQueues } from "../support/sqs.ts";

let queues: TestQueues;
let queue: Queue;
let other: Queue;
beforeAll(async () => {
  queues = await createQueues();
  queue = createSqsQueue(queues);
  other = createSqsQueue(queues);
});
afterAll(() => queues.drop());

queueConformance("the queue in SQS", () => ({
  queue,
  other,
  empty: () => queues.empty(),
  dedupes: false,
  tellsOthers: false,
  fencesReceipts: false,
  lateMs: 3_000,
}));
