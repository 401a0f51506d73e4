// Statements that are known to overlap: each has taken its snapshot, and waits for a row that somebody holds. What they must not do is go by the snapshot.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { openUrl } from "../../../shared/adapters/database/url.ts";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import type { Database } from "../../../shared/ports/database.ts";
import type { StreamRef } from "../../../shared/ports/store.ts";
import { type Bench, completed, createBench, event, terminal } from "../../conformance/store/bench.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

const AGENT = "overlap";
let db: TestDatabase;
let another: Database;
let b: Bench;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, [AGENT]);
  another = await openUrl(db.url);
  const nothing = async () => {};
  const [store, other] = [createStore(db.database), createStore(another)];
  b = createBench({ store, other, agent: AGENT, passTime: nothing, close: nothing });
});
afterAll(async () => {
  await another.close();
  await db.drop();
});

/** Starts all of it while the stream's row is held, and lets go when that many statements wait for a lock. */
async function together<T>(stream: StreamRef, begin: readonly (() => Promise<T>)[]): Promise<T[]> {
  const client = await db.database.pool.connect();
  try {
    await client.query("BEGIN");
    await client.query(`SELECT FROM agent_${AGENT}.streams WHERE run_id = $1 AND stream_id = $2 FOR UPDATE`, [
      stream.runId,
      stream.streamId,
    ]);
    const begun = Promise.all(begin.map((start) => start()));
    const end = Date.now() + 10_000;
    for (let waiting = 0; waiting < begin.length; await sleep(5)) {
      const { rows } = await db.database.pool.query<{ n: number }>(
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      waiting = rows[0]?.n ?? 0;
      if (Date.now() > end) throw new Error(`${waiting} of ${begin.length} statements wait`);
    }
    await client.query("COMMIT");
    return await begun;
  } finally {
    client.release(true); // with whatever it still holds
  }
}

test("I3: twins of a fact: one is delivered, the other learns of it, and its number is given to the next", async () => {
  const stream = b.stream(await b.run());
  const twin = (reason: string) => ({ kind: "cancel", code: "run.cancelled", reason }) as const;
  const answers = await together(stream, [
    () => b.store.streams.deliver(stream, "k", twin("one")),
    () => b.other.streams.deliver(stream, "k", twin("two")),
  ]);
  expect(answers.map((answer) => answer.type).sort()).toEqual(["delivered", "duplicate"]);
  await b.store.streams.deliver(stream, "next", twin("next"));
  expect((await b.store.streams.readInbox(stream, 0)).map((item) => [item.seq, item.key])).toEqual([
    [1, "k"],
    [2, "next"],
  ]);
});

test("the last two tasks of a wave: one of them rings", async () => {
  const { runId, tasks } = await b.planned(2);
  const [one, two] = tasks as [StreamRef, StreamRef];
  const writers = [await b.take(one), await b.take(two, { store: b.other })];
  const answers = await together(
    b.stream(runId),
    writers.map((writer) => () => writer.write([terminal(completed())], completed())),
  );
  expect(answers.map((answer) => answer.rang).sort()).toEqual([false, true]);
  expect(await b.store.streams.readInbox(b.stream(runId), 0)).toHaveLength(1);
});

test("I10: a fact and a park: the park is refused, or its stream is woken", async () => {
  const stream = b.stream(await b.run());
  const writer = await b.take(stream);
  const [parked] = await together<unknown>(stream, [
    () => writer.write([event("A")], { type: "park", absorbed: 0, wait: "wave", wakeAt: null }),
    () => b.other.streams.deliver(stream, "k", { kind: "hold", wave: 0 }),
  ]);
  const { status } = await b.streamRow(stream);
  expect([
    ["parked", "ready"],
    ["running", "running"],
  ]).toContainEqual([(parked as { status: string }).status, status]);
});
