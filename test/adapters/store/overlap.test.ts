// Statements that are known to overlap: each has taken its snapshot, and waits for a row that somebody holds. What they must not do is go by the snapshot.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { openUrl } from "../../../shared/adapters/database/url.ts";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import type { Database } from "../../../shared/ports/database.ts";
import type { StreamRef } from "../../../shared/ports/store.ts";
import { type Bench, completed, createBench, event, failed, terminal, wave } from "../../conformance/store/bench.ts";
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
const together = <T>({ runId, streamId }: StreamRef, begin: readonly (() => Promise<T>)[]): Promise<T[]> =>
  beside(`streams WHERE run_id = '${runId}' AND stream_id = '${streamId}'`, begin);

/** The same of any row, with a look at the database before it lets go. */
async function beside<T>(row: string, begin: readonly (() => Promise<T>)[], look = async () => {}): Promise<T[]> {
  const client = await db.database.pool.connect();
  try {
    await client.query("BEGIN");
    await client.query(`SELECT FROM agent_${AGENT}.${row} FOR UPDATE`);
    const begun = Promise.all(begin.map((start) => start()));
    const end = Date.now() + 10_000;
    for (let waiting = 0; waiting < begin.length; await sleep(5)) {
      const { rows } = await db.database.pool.query<{ n: number }>(
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      waiting = rows[0]?.n ?? 0;
      if (Date.now() > end) throw new Error(`${waiting} of ${begin.length} statements wait`);
    }
    await look();
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

test("a retry waits for its budget, and for its wave, before it holds the run's row", async () => {
  const runId = await b.run({ budget: { totalTokens: 1, maxCostUsd: null } });
  const run = await b.take(b.stream(runId));
  await run.plan(wave(0, 1, { onTaskFailure: "collect" }));
  await b.end(b.stream(runId, "task:w0t0"), failed);
  await run.write([event("RunFailed")], failed);
  const free = async (): Promise<void> => {
    const { rows } = await db.database.pool.query(
      `SELECT FROM agent_${AGENT}.runs WHERE run_id = $1 FOR UPDATE SKIP LOCKED`,
      [runId],
    );
    expect(rows).toHaveLength(1);
  };
  const as = { head: run.head, by: "p", caps: { totalTokens: 2, maxCostUsd: null } };
  const retry = () => b.store.retries.retry({ agent: AGENT, runId }, as);
  expect(await beside(`budgets WHERE run_id = '${runId}'`, [retry], free)).toEqual([true]);

  const first = await b.take(b.stream(runId));
  await first.write([], { type: "park", absorbed: first.lease.inboxSeq, wait: "timer", wakeAt: 0 });
  const { lease } = await b.take(b.stream(runId)); // its row says `waitingTimer`, so it changes
  const again = { tasks: ["w0t0"], children: [], generation: 1, answers: [], by: "p", events: [event("A")] };
  const reopen = () => b.store.retries.reopen({ lease, head: lease.head, ...again });
  expect(await beside(`waves WHERE run_id = '${runId}'`, [reopen], free)).toMatchObject([{ type: "ok" }]);
});
