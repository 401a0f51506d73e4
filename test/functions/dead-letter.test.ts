import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createDeadLetterHandler } from "../../functions/dead-letter.ts";
import { localContext, toSqsEvent } from "../../local/sqs-event.ts";
import { createDeadLetters } from "../../shared/adapters/queue/dead-letters.ts";
import type { Received } from "../../shared/ports/queue.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { recordingLog } from "../support/log.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());

const context = localContext("dead-letter", "r");
const dead = (messageId: string, body: string): Received => ({
  queue: "tasks-short",
  messageId,
  body,
  receipt: "1.x",
  receiveCount: 5,
});

test("each dead letter becomes a row under the queue it came from, once, and a line in the log", async () => {
  const log = recordingLog();
  const handle = createDeadLetterHandler({ deadLetters: createDeadLetters(db.database), log });
  const event = toSqsEvent([dead("7", '{"agent":"crew"}'), dead("8", "not JSON")], true);
  expect(await handle(event, context)).toEqual({ batchItemFailures: [] });
  expect(await handle(event, context)).toEqual({ batchItemFailures: [] });
  const { rows } = await db.database.pool.query(
    "SELECT message_id, queue, receive_count FROM toren_control.dead_letters ORDER BY 1",
  );
  expect(rows).toEqual([
    { message_id: "7", queue: "tasks-short", receive_count: 5 },
    { message_id: "8", queue: "tasks-short", receive_count: 5 },
  ]);
  expect(log.entries.filter((e) => e.level === "error")).toHaveLength(4);
});

test("the line in the log says whose a dead letter was, if it can be read", async () => {
  const log = recordingLog();
  const handle = createDeadLetterHandler({ deadLetters: { record: async () => {} }, log });
  const hint = { agent: "crew", runId: "00000000-0000-4000-8000-000000000001", taskId: "w0t0" };
  await handle(toSqsEvent([dead("1", JSON.stringify({ ...hint, traceparent: "x" })), dead("2", "{}")], true), context);
  expect(log.entries.map((e) => e.fields)).toEqual([
    { queue: "tasks-short", messageId: "1", receiveCount: 5, ...hint },
    { queue: "tasks-short", messageId: "2", receiveCount: 5 },
  ]);
});

test("one that can't be recorded stays on its queue; the others are recorded", async () => {
  const recorded: string[] = [];
  const handle = createDeadLetterHandler({
    deadLetters: {
      record: async ([letter]) => {
        if (letter?.messageId === "1") throw new Error("away");
        recorded.push(letter?.messageId ?? "");
      },
    },
    log: recordingLog(),
  });
  const answer = await handle(toSqsEvent([dead("1", "{}"), dead("2", "{}")], true), context);
  expect(answer.batchItemFailures).toEqual([{ itemIdentifier: "1" }]);
  expect(recorded).toEqual(["2"]);
});
