import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createTickHandler } from "../../functions/tick.ts";
import { localContext, toSqsEvent } from "../../local/sqs-event.ts";
import { createPostgresQueue, type PostgresQueue } from "../../shared/adapters/queue/postgres.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { silentLog } from "../support/log.ts";
import { engineOver, hintOfTask, receiveAll } from "../support/sqs.ts";

let db: TestDatabase;
let queue: PostgresQueue;
beforeAll(async () => {
  db = await testDatabase();
  queue = createPostgresQueue({ database: db.database, log: silentLog });
});
afterAll(async () => {
  await queue.close();
  await db.drop();
});

test("a run's hint is a tick; a task's has lost its way, and fails alone", async () => {
  const stop = new AbortController();
  const worked: string[] = [];
  const handle = createTickHandler(
    { engine: engineOver(queue, silentLog), stop: stop.signal },
    {
      runTick: async (_, hint, at) => {
        worked.push(hint.runId);
        expect(at).toMatchObject({ solo: false, stop: stop.signal });
        return "parked";
      },
    },
  );
  const [run, task] = [hintOfTask(null), hintOfTask("w0t0")];
  await queue.send([
    { queue: "ticks", hint: run },
    { queue: "ticks", hint: task },
  ]);
  const messages = await receiveAll(queue, "ticks");
  const answer = await handle(toSqsEvent(messages), localContext("tick", "r"));
  const lost = messages.find((m) => JSON.parse(m.body).taskId !== null);
  expect(answer.batchItemFailures).toEqual([{ itemIdentifier: lost?.messageId }]);
  expect(worked).toEqual([run.runId]);
});
