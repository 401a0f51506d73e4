import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createPostgresQueue, type PostgresQueue } from "../../../shared/adapters/queue/postgres.ts";
import { queueConformance } from "../../conformance/queue.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { silentLog } from "../../support/log.ts";

let db: TestDatabase;
let queue: PostgresQueue;
let other: PostgresQueue;
beforeAll(async () => {
  db = await testDatabase();
  queue = createPostgresQueue({ database: db.database, log: silentLog });
  other = createPostgresQueue({ database: db.database, log: silentLog });
});
afterAll(async () => {
  await Promise.all([queue.close(), other.close()]);
  await db.drop();
});
const empty = async () => {
  await db.database.pool.query("DELETE FROM toren_control.queue_messages");
};

queueConformance("the queue in Postgres", () => ({ queue, other, empty, dedupes: true }));

test("overlapping batches of keyed messages, in opposite orders, don't deadlock", async () => {
  await empty();
  const keys = Array.from({ length: 60 }, (_, n) => `k${n}`);
  const batch = (order: readonly string[]) =>
    order.map((dedupeKey) => ({ queue: "ticks", hint: { agent: "a", runId: "r", taskId: null }, dedupeKey }) as const);
  for (let round = 0; round < 15; round++) {
    const sends = [queue.send(batch(keys)), other.send(batch(keys.toReversed())), queue.send(batch(keys.slice(20)))];
    await Promise.all([...sends, other.receive("ticks", 5, 60_000)]);
  }
});

test("a queue whose connections were cut goes on, and still hears the others", async () => {
  await empty();
  const heard: string[] = [];
  const stop = queue.onArrival((name) => heard.push(name));
  await db.database.pool.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
  );
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  heard.length = 0;
  await other.send([{ queue: "tasks-short", hint: { agent: "a", runId: "r", taskId: "w0t0" } }]);
  for (let tries = 0; tries < 80 && heard.length === 0; tries++)
    await new Promise((resolve) => setTimeout(resolve, 25));
  expect(heard).toContain("tasks-short");
  expect(await queue.receive("tasks-short", 1, 60_000)).toHaveLength(1);
  stop();
});
