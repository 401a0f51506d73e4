import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { fate, mortal } from "../../../local/testing/mortal.ts";
import { createPostgresQueue } from "../../../shared/adapters/queue/postgres.ts";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, []);
});
afterAll(async () => await db.drop());

const silent = { info: () => {}, warn: () => {}, error: () => {} };

test("the queue of a worker that died with a notification on its way can be closed", async () => {
  const own = fate();
  const queue = createPostgresQueue({ database: mortal(db.database, own), log: silent });
  await queue.send([{ queue: "ticks", hint: { agent: "crew", runId: randomUUID(), taskId: null } }]);
  own.dead = true; // its notification is gathered for some milliseconds
  await queue.close();
});

test("what a dead worker had sent lands, and it hears nothing of it", async () => {
  const own = fate();
  const { pool } = mortal(db.database, own);
  await db.database.pool.query("CREATE TABLE landed (n int)");
  let heard = false;
  const sent = pool.query("INSERT INTO landed SELECT 1 FROM pg_sleep(0.05)").then(() => {
    heard = true;
  });
  own.dead = true;
  await Promise.allSettled(own.underWay);
  expect(await Promise.race([sent, new Promise((go) => setTimeout(go, 50, "nothing"))])).toBe("nothing");
  expect(heard).toBe(false);
  expect((await db.database.pool.query("SELECT n FROM landed")).rows).toEqual([{ n: 1 }]);
});
