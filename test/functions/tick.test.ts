import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createTickHandler } from "../../functions/tick.ts";
import { localContext, toSqsEvent } from "../../local/sqs-event.ts";
import { createPostgresQueue, type PostgresQueue } from "../../shared/adapters/queue/postgres.ts";
import type { EngineDeps } from "../../shared/engine/deps.ts";
import type { Outgoing } from "../../shared/ports/queue.ts";
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

test("a timer's message comes early, of a run or a task, and is sent on with what is left by the store's clock", async () => {
  const set: unknown[] = [];
  const engine = {
    ...engineOver(queue, silentLog),
    store: { streams: { now: async () => 5_000_000 } },
    timers: { set: async (...given: unknown[]) => void set.push(given) },
  } as unknown as EngineDeps;
  const handle = createTickHandler(
    { engine, stop: new AbortController().signal },
    { runTick: () => Promise.reject(new Error("worked on before its time")) },
  );
  const [run, task] = [hintOfTask(null), hintOfTask("w0t0")];
  await queue.send([
    { queue: "ticks", hint: run },
    { queue: "ticks", hint: task },
  ]);
  const messages = await receiveAll(queue, "ticks");
  const dueAt = 5_090_000;
  const early = messages.map((m) => ({ ...m, body: JSON.stringify({ ...JSON.parse(m.body), dueAt }) }));
  expect(await handle(toSqsEvent(early), localContext("tick", "r"))).toEqual({ batchItemFailures: [] });
  const sent = new Map(set.map((given) => given as [Outgoing, number, number]).map((s) => [s[0].queue, s]));
  expect(sent.get("ticks")).toMatchObject([{ hint: run }, dueAt, 5_000_000]);
  expect(sent.get("tasks-short")).toMatchObject([{ hint: task }, dueAt, 5_000_000]);
  expect(await receiveAll(queue, "ticks")).toEqual([]);
});
