import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createPostgresQueue, type PostgresQueue } from "../../../shared/adapters/queue/postgres.ts";
import { createPostgresTimers } from "../../../shared/adapters/timers/postgres.ts";
import { QUEUE_DELAY_MAX_MS } from "../../../shared/core/limits.ts";
import { timersConformance } from "../../conformance/timers.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { silentLog } from "../../support/log.ts";

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
const empty = async () => {
  await db.database.pool.query("DELETE FROM toren_control.queue_messages");
};

timersConformance("timers on a laptop", () => ({ timers: createPostgresTimers(queue), queue, empty }));

test("a time that the queue can't delay to is left to the stream's own clock", async () => {
  await empty();
  const hint = { agent: "crew", runId: randomUUID(), taskId: null };
  await createPostgresTimers(queue).set({ queue: "ticks", hint }, QUEUE_DELAY_MAX_MS + 1, 0);
  const { rows } = await db.database.pool.query("SELECT FROM toren_control.queue_messages");
  expect(rows).toEqual([]);
});
