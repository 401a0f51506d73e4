// The counts of a stream, as Postgres keeps them: what the overview and the metrics add up.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import { tallyOf } from "../../../shared/adapters/store/tally.ts";
import { type Bench, createBench, event } from "../../conformance/store/bench.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

let database: TestDatabase;
let b: Bench;
beforeAll(async () => {
  database = await testDatabase();
  await migrate(database.database, ["suite"]);
  const store = createStore(database.database);
  b = createBench({ store, other: store, agent: "suite", passTime: async () => {}, close: async () => {} });
});
afterAll(() => database.drop());

const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 };
const answer = (usd: number) => event("LlmCallCompleted", { usage, cost: { usd, simulated: false } });
const counts = async (runId: string) =>
  (
    await database.database.pool.query(
      `SELECT stream_id, retries, cuts, replays, paid_nano::float8, paid_day = (now() AT TIME ZONE 'UTC')::date AS today
       FROM agent_suite.streams WHERE run_id = $1 ORDER BY stream_id`,
      [runId],
    )
  ).rows;

describe("counts of a stream", () => {
  test("retries, cuts, replays, and what was paid today", async () => {
    const { runId, run, tasks } = await b.planned(1);
    const task = await b.take(tasks[0] ?? b.stream(runId));
    await task.write([event("LlmCallFailed"), event("LlmCallFailed"), answer(1)]);
    await task.write([event("TaskStarted")], { type: "run" }, { replayed: 7 });
    await task.write([event("StreamInvalidated")]);
    await run.plan({ wave: 1, onTaskFailure: "fail", maxParallel: null, fresh: [], claimed: [] });
    expect(await counts(runId)).toEqual([
      { stream_id: "run", retries: 0, cuts: 0, replays: 0, paid_nano: 0, today: null },
      { stream_id: "task:w0t0", retries: 2, cuts: 1, replays: 7, paid_nano: 1_000_000_000, today: true },
    ]);
    const yesterday = "UPDATE agent_suite.streams SET paid_day = paid_day - 1 WHERE run_id = $1";
    await database.database.pool.query(yesterday, [runId]);
    await task.write([event("ToolCallCompleted")]); // costs nothing: the day stays
    expect((await counts(runId))[1]).toMatchObject({ paid_nano: 1_000_000_000, today: false });
    await task.write([answer(0.5), answer(0.25)]);
    expect((await counts(runId))[1]).toMatchObject({ paid_nano: 750_000_000, today: true });
  });

  test("a tick's cut travels with its plan", async () => {
    const runId = await b.run();
    const run = await b.take(b.stream(runId));
    const { lease, head } = run;
    const events = [event("StreamInvalidated", { fromSeq: 2 }), event("WavePlanned")];
    await b.store.streams.plan({ lease, head, events, waves: [] });
    expect((await counts(runId))[0]).toMatchObject({ cuts: 1 });
  });

  test("a failed call is no answer; what its provider had counted is counted", () => {
    const failed = (payload: Parameters<typeof event>[1]) => tallyOf({ events: [event("LlmCallFailed", payload)] });
    const used = { input: 5, cacheRead: 4, cacheWrite: 3, output: 2, reasoning: 1 };
    const cost = { usd: 0.25, simulated: true };
    expect(failed({ usage: used, cost })).toEqual([0, 12, 2, 250_000_000, 0, 1, 1, 0, 0]);
    expect(failed({ usage: used })).toEqual([0, 12, 2, 0, 1, 0, 1, 0, 0]); // at a price that nobody knows
    expect(failed({})).toEqual([0, 0, 0, 0, 0, 0, 1, 0, 0]);
  });

  test("an append that counts nothing says nothing", () => {
    expect(tallyOf({ events: [event("ToolCallCompleted")] })).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0]);
  });
});
