import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Pool } from "pg";
import { depthsOf } from "../../../shared/adapters/queue/postgres-depth.ts";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import { createTotals } from "../../../shared/adapters/store/totals.ts";
import { FIGURES_MAX } from "../../../shared/core/limits.ts";
import type { Append } from "../../../shared/ports/store.ts";
import type { Totals } from "../../../shared/ports/totals.ts";
import { QUERIES } from "../../../shared/sql/queries.ts";
import { type Bench, completed, createBench, event, failed } from "../../conformance/store/bench.ts";
import { until } from "../../engine/support.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

let db: TestDatabase;
let b: Bench;
let totals: Totals;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, ["suite", "many"]);
  const store = createStore(db.database);
  totals = createTotals(db.database);
  b = createBench({ store, other: store, agent: "suite", passTime: async () => {}, close: async () => {} });
});
afterAll(() => db.drop());

const answer = (usd?: number, simulated = false) =>
  event("LlmCallCompleted", {
    stepId: "s0",
    usage: { input: 10, cacheRead: 5, cacheWrite: 0, output: 7 },
    ...(usd === undefined ? {} : { cost: { usd, simulated } }),
  });
const add = () => totals.add("suite", 100, 0);
const replayed = (n: number): Partial<Append> => ({ replayed: n });

describe("totals", () => {
  test("hold what streams counted, each thing once, however often and by how many they are added", async () => {
    const { run, tasks } = await b.planned(2);
    const first = await b.take(tasks[0] as never);
    await first.write([answer(0.5), event("LlmCallFailed", { stepId: "s1" })]);
    expect(await add()).toBe(2); // the run's own stream, and this task's
    await first.write([answer()], { type: "run" }, replayed(3));
    const second = await b.take(tasks[1] as never);
    await second.write([answer(0.25, true), event("StreamInvalidated", { fromSeq: 1 })]);
    await Promise.all([add(), add(), add()]);
    await second.write([event("TaskCompleted", { result: 1 })], completed());
    await first.write([event("TaskCompleted", { result: 1 })], completed());
    await run.write([event("RunFailed")], failed);
    await add();
    expect(await add()).toBe(0); // all rest
    expect(await totals.figures("suite")).toMatchObject({
      started: 1,
      ended: { completed: 0, failed: 1, cancelled: 0 },
      modelCalls: 3,
      tokensIn: 45,
      tokensOut: 21,
      nanoUsd: 500_000_000,
      simulatedNanoUsd: 250_000_000,
      unpriced: 1,
      retries: 1,
      cuts: 1,
      replays: 3,
    });
  });

  test("of a run that is erased before anybody added it nothing is lost, and nothing is counted twice", async () => {
    await add();
    const before = await totals.figures("suite");
    for (const added of [false, true]) {
      const { runId, run, tasks } = await b.planned(1);
      const task = await b.take(tasks[0] as never);
      await task.write([answer(1)]);
      if (added) await add();
      await task.write([answer(1), event("TaskCompleted", { result: 1 })], completed());
      await run.write([event("RunCompleted")], completed());
      const dry = { runs: 1, events: 100, dryRun: true };
      await b.store.erasure.erase("suite", { runIds: [runId] }, dry);
      expect(await b.store.erasure.erase("suite", { runIds: [runId] }, { ...dry, dryRun: false })).toHaveLength(1);
    }
    expect(await add()).toBe(0);
    const after = await totals.figures("suite");
    expect([after.modelCalls - before.modelCalls, after.nanoUsd - before.nanoUsd]).toEqual([4, 4e9]);
    expect([after.started - before.started, after.ended.completed - before.ended.completed]).toEqual([2, 2]);
  });

  test("a run that is erased while somebody adds what it counted is added once", async () => {
    const { runId, run, tasks } = await b.planned(1);
    const task = await b.take(tasks[0] as never);
    await run.write([event("RunCompleted")], completed());
    await add();
    await task.write([answer(1), event("TaskCompleted", { result: 1 })], completed());
    const before = await totals.figures("suite");
    const adds = await db.database.pool.connect();
    try {
      await adds.query("BEGIN");
      await adds.query(QUERIES["count-streams"].replaceAll(/(?<!:):agent\b/g, "agent_suite"), [100, 0]);
      const erased = b.store.erasure.erase("suite", { runIds: [runId] }, { runs: 1, events: 100, dryRun: false });
      await until(async () => {
        const { rows } = await db.database.appends.query(
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        return rows.length > 0;
      });
      await adds.query("COMMIT");
      expect(await erased).toHaveLength(1);
    } finally {
      adds.release(true);
    }
    const after = await totals.figures("suite");
    expect([after.modelCalls - before.modelCalls, after.nanoUsd - before.nanoUsd]).toEqual([1, 1e9]);
  });

  test("what is worked on goes behind what waits, so that a batch can't starve others", async () => {
    const busy = await b.take(b.stream(await b.run()));
    await add();
    const other = await b.take(b.stream(await b.run()));
    await other.write([event("RunCompleted")], completed());
    const before = await totals.figures("suite");
    for (let turn = 0; turn < 2; turn++) expect(await totals.add("suite", 1, 0)).toBe(1);
    expect((await totals.figures("suite")).ended.completed).toBe(before.ended.completed + 1);
    expect(await totals.add("suite", 100, 60_000)).toBe(0);
    await busy.write([event("RunCompleted")], completed());
  });

  test("a run that failed and goes on ends twice, and starts once", async () => {
    const runId = await b.run();
    await (await b.take(b.stream(runId))).write([event("RunFailed")], failed);
    await add();
    const before = await totals.figures("suite");
    const as = { head: 2, by: "p", caps: { maxCostUsd: null, totalTokens: null } };
    expect(await b.store.retries.retry({ agent: "suite", runId }, as)).toBe(true);
    await (await b.take(b.stream(runId))).write([event("RunCompleted")], completed());
    await add();
    const after = await totals.figures("suite");
    expect([after.started, after.ended.failed, after.ended.completed]).toEqual([
      before.started,
      before.ended.failed,
      before.ended.completed + 1,
    ]);
  });
});

describe("what they cost to read", () => {
  const fill = async (status: string, runs: number): Promise<void> => {
    await db.database.pool.query(
      `INSERT INTO agent_many.runs (run_id, process, input, generation, code_hash, request_digest, ended, phase)
       SELECT gen_random_uuid(), 'main', '1', 1, 'h', 'd', $1, 'running' FROM generate_series(1, $2)`,
      [status === "running" ? null : status, runs],
    );
    await db.database.pool.query(
      `INSERT INTO agent_many.streams (run_id, stream_id, status) SELECT run_id, 'run', 'ended' FROM agent_many.runs ON CONFLICT DO NOTHING`,
    );
    await db.database.pool.query("VACUUM ANALYZE agent_many.runs");
  };
  const pages = async (): Promise<number> => {
    const text = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${QUERIES["read-figures"].replaceAll(/(?<!:):agent\b/g, "agent_many")}`;
    const { rows } = await db.database.appends.query(text, [["created", "running", "waitingTimer"], FIGURES_MAX]);
    const plan = rows[0]?.["QUERY PLAN"][0].Plan;
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
  };

  test("one statement, which reads as much beside 5,000 ended runs as beside 20", async () => {
    await fill("completed", 20);
    const few = await pages();
    await fill("completed", 5_000);
    // An index is a page higher. Pages that somebody's snapshot kept from being marked as visible to all are read, too: then once more.
    await until(async () => {
      await db.database.pool.query("VACUUM ANALYZE agent_many.runs");
      return (await pages()) < few + 10;
    });
    const asked: string[] = [];
    const query = db.database.appends.query.bind(db.database.appends);
    const appends = Object.assign(Object.create(db.database.appends), {
      query: (q: { text: string }) => {
        asked.push(q.text);
        return query(q);
      },
    });
    await createTotals({ appends, pool: db.database.pool }).figures("many");
    expect(asked).toHaveLength(1);
  });

  test("of a status no more than a bound is counted", async () => {
    await fill("running", FIGURES_MAX + 5);
    expect((await totals.figures("many")).live.get("running")).toBe(FIGURES_MAX);
  });
});

test("queues: what waits, what is worked on, what comes later", async () => {
  const insert = `INSERT INTO toren_control.queue_messages (queue, body, visible_at, receipt) VALUES ($1, '{}', now() + $2 * interval '1 s', $3)`;
  for (const [queue, seconds, receipt] of [
    ["ticks", -1, null],
    ["ticks", -5, randomUUID()],
    ["ticks", 60, randomUUID()],
    ["tasks-long", 60, null],
  ])
    await db.database.pool.query(insert, [queue, seconds, receipt]);
  expect(await depthsOf(db.database)).toEqual([
    { queue: "ticks", waiting: 2, hidden: 1, delayed: 0 },
    { queue: "tasks-short", waiting: 0, hidden: 0, delayed: 0 },
    { queue: "tasks-long", waiting: 0, hidden: 0, delayed: 1 },
    { queue: "tasks-solo", waiting: 0, hidden: 0, delayed: 0 },
  ]);
  const away = new Pool({ host: "127.0.0.1", port: 1 });
  await expect(depthsOf({ pool: away })).rejects.toMatchObject({ code: "database.unavailable" });
  await away.end();
});
