import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { openPools } from "../../../shared/adapters/database/pools.ts";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import { COMMIT_BATCH_BYTES, COMMIT_BATCH_ITEMS, LOCK_TIMEOUT_MS } from "../../../shared/core/limits.ts";
import { type Bench, completed, createBench, event, terminal, type Writer } from "../../conformance/store/bench.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { expectSound } from "./checks.ts";
import { type Watched, watched } from "./pools.ts";

const AGENT = "commits";
let db: TestDatabase;
let w: Watched;
let b: Bench;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, [AGENT]);
});
beforeEach(() => {
  w = watched(db.database);
  const store = createStore(w.database);
  b = createBench({ store, other: store, agent: AGENT, passTime: async () => {}, close: async () => {} });
});
afterAll(async () => {
  await expectSound(db.database.pool, AGENT);
  await db.drop();
});

const writers = async (count: number): Promise<Writer[]> => {
  const { tasks } = await b.planned(count, "collect");
  const taken = await Promise.all(tasks.map((t) => b.take(t)));
  w.sent.length = 0;
  return taken;
};

describe("group commit", () => {
  test("I2: one append is one statement", async () => {
    const [one] = (await writers(1)) as [Writer];
    await one.write([event("A"), event("B")]);
    expect(w.sent).toEqual(["append-one"]);
  });

  test("concurrent appends share statements", async () => {
    const many = await writers(COMMIT_BATCH_ITEMS + 40);
    await Promise.all(many.map((x) => x.write([event("A"), event("B")])));
    expect(w.sent).toEqual(["append-plain", "append-plain"]);
  });

  test("a batch has the full form only where one of its items needs it", async () => {
    const [first, ...rest] = (await writers(6)) as [Writer, ...Writer[]];
    await Promise.all([first.write([terminal(completed())], completed()), ...rest.map((x) => x.write([event("A")]))]);
    await Promise.all(rest.map((x) => x.write([event("A")], { type: "run" }, { progress: true })));
    expect(w.sent).toEqual(["append-full", "append-plain"]);
  });

  test("the first append after a wait has the full form, the next doesn't", async () => {
    const [one] = (await writers(1)) as [Writer];
    await one.write([event("A")], { type: "park", absorbed: 0, wait: "timer", wakeAt: 0 });
    const again = await b.take(one.lease.stream);
    w.sent.length = 0;
    await again.write([event("B")]);
    await again.write([event("C")]);
    expect(w.sent).toEqual(["append-full", "append-one"]);
  });

  test("batches are bounded in bytes", async () => {
    const many = await writers(40);
    const text = "x".repeat(200_000);
    await Promise.all(many.map((x) => x.write([event("A", { text })])));
    expect(w.sent.length).toBe(Math.ceil(40 / Math.floor(COMMIT_BATCH_BYTES / 200_020)));
  });

  test("one writer's second append before the first is answered is a bug, and harms nobody", async () => {
    const [one] = (await writers(1)) as [Writer];
    const first = one.write([event("A")]);
    await expect(one.append([event("B")])).rejects.toMatchObject({ code: "bug" });
    await first;
    expect(await b.types(one.lease.stream)).toEqual(["A"]);
  });

  test("I12: a zombie beside its heir in one worker gets its conflict", async () => {
    const stream = b.stream(await b.run());
    const zombie = await b.take(stream, { leaseMs: 1 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    const heir = await b.take(stream);
    const [kept, refused] = await Promise.all([heir.write([event("A")]), zombie.append([event("B")])]);
    expect([kept.type, refused.type]).toEqual(["ok", "conflict"]);
  });

  test("an item that the database refuses fails alone", async () => {
    const many = await writers(12);
    const answers = await Promise.allSettled(many.map((x, i) => x.write([event(i === 5 ? "A\u0000" : "A", { i })])));
    expect(answers.map((a) => a.status)).toEqual(many.map((_, i) => (i === 5 ? "rejected" : "fulfilled")));
    expect((answers[5] as PromiseRejectedResult).reason).toMatchObject({
      code: "bug",
      message: expect.stringContaining("22021"),
    });
    for (const [i, x] of many.entries()) expect(await b.types(x.lease.stream)).toEqual(i === 5 ? [] : ["A"]);
  });

  test("a lock that is held too long costs a retry, not the append", async () => {
    const [one] = (await writers(1)) as [Writer];
    const client = await db.database.pool.connect();
    await client.query("BEGIN");
    await client.query(`SELECT 1 FROM agent_${AGENT}.streams WHERE run_id = $1 FOR UPDATE`, [one.lease.stream.runId]);
    const appended = one.write([event("A")]);
    await new Promise((resolve) => setTimeout(resolve, LOCK_TIMEOUT_MS + 300));
    await client.query("COMMIT");
    client.release();
    expect((await appended).head).toBe(1);
    expect(w.codes).toEqual(["55P03"]);
  });

  test("connections that an administrator ends cost nothing but a repetition", async () => {
    const many = await writers(16);
    const kill = setInterval(() => {
      void db.database.pool
        .query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%streams s SET%' AND pid <> pg_backend_pid()",
        )
        .catch(() => {});
    }, 20);
    let rounds = 0;
    for (; rounds < 2_000 && w.codes.length < 5; rounds++) {
      const i = rounds;
      await Promise.all(many.map((x) => x.write([event("A", { i })])));
    }
    clearInterval(kill);
    expect(w.codes.length).toBeGreaterThanOrEqual(5);
    for (const x of many) {
      const log = await b.store.streams.read(x.lease.stream, 0);
      expect(log.map((e) => e.payload.i)).toEqual(Array.from({ length: rounds }, (_, i) => i));
    }
  });

  test("a database that is away is said to be so, by every method, and nothing hangs", async () => {
    const writer = await b.take(b.stream(await b.run()));
    const gone = openPools("postgres://toren@127.0.0.1:1/nowhere");
    const store = createStore(gone);
    const { lease, head } = writer;
    const append = { lease, head, events: [event("A")], next: { type: "run" }, progress: false } as const;
    const asked = [
      store.streams.append(append),
      store.streams.now(),
      store.streams.renew([lease], 1_000),
      store.runs.list({ limit: 1 }),
    ];
    for (const answer of await Promise.allSettled(asked))
      expect(answer).toMatchObject({ status: "rejected", reason: { code: "database.unavailable" } });
  });
});
