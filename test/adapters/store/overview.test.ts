import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createOverview } from "../../../shared/adapters/store/overview.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import { PAYLOAD_INLINE_BYTES, STUCK_AFTER_MS } from "../../../shared/core/limits.ts";
import type { Overview } from "../../../shared/ports/overview.ts";
import type { Wait } from "../../../shared/ports/store.ts";
import { type Bench, completed, createBench, event, failed, type Writer } from "../../conformance/store/bench.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

let database: TestDatabase;
let b: Bench;
let overview: Overview;
beforeAll(async () => {
  database = await testDatabase();
  await migrate(database.database, ["suite", "empty"]);
  const store = createStore(database.database);
  overview = createOverview(database.database);
  b = createBench({ store, other: store, agent: "suite", passTime: async () => {}, close: async () => {} });
});
afterAll(() => database.drop());

const asked = (key: string, more: object = {}) =>
  event("ApprovalRequested", { stepId: "s0", toolUseId: `id ${key}`, tool: "pay", args: { euros: 120 }, key, ...more });
const parked = async (writer: Writer, wait: Wait): Promise<void> => {
  await writer.write([], { type: "park", absorbed: writer.lease.inboxSeq, wait, wakeAt: null });
};
const aTask = async () => {
  const { runId, run, tasks } = await b.planned(1);
  const task = await b.take(tasks[0] ?? b.stream(runId));
  return { runId, run, task };
};
const sql = (text: string, values: unknown[]) => database.database.pool.query(text, values);

describe("what people look at first", () => {
  test("runs by status", async () => {
    expect(await overview.agents()).toEqual(["empty", "suite"]);
    expect(await overview.counts("empty")).toEqual({});
    await (await b.take(b.stream(await b.run()))).write([event("RunCompleted")], completed());
    await (await b.take(b.stream(await b.run()))).write([event("RunFailed")], failed);
    await b.run();
    expect(await overview.counts("suite")).toMatchObject({ completed: 1, failed: 1, created: 1 });
  });

  test("undecided approvals and cuts of runs that wait, not what was decided, cut away or has ended", async () => {
    const first = await aTask();
    await first.task.write([asked("k1"), asked("k2", { reason: "unknownOutcome", expiresAt: 5 }), asked("k3")]);
    await parked(first.task, "approval");
    const decision = { kind: "decision", granted: true, by: "p", comment: "" } as never;
    await b.store.streams.deliver(first.task.lease.stream, "decision:k3", decision);
    const again = await b.take(first.task.lease.stream);
    await parked(again, "approval");

    const second = await aTask();
    await second.task.write([asked("old"), event("StreamInvalidated", { fromSeq: 1, reason: "edit", generation: 1 })]);
    const price = { modelCalls: 2, usd: 0.5, simulated: false };
    const cut = (reason: string) => event("CutRequested", { fromSeq: 1, reason, generation: 1, calls: ["pay"], price });
    await second.task.write([cut("first"), cut("system changed")]);
    await parked(second.task, "cut");

    const waiting = await overview.waiting("suite");
    expect(waiting.map((run) => [run.runId, run.status])).toEqual([
      [first.runId, "waitingApproval"],
      [second.runId, "waitingCut"],
    ]);
    expect(waiting[0]?.cuts).toEqual([]);
    expect(
      waiting[0]?.approvals.map(({ taskId, tool, args, key, reason, expiresAt }) => [
        taskId,
        tool,
        args,
        key,
        reason,
        expiresAt,
      ]),
    ).toEqual([
      ["w0t0", "pay", { euros: 120 }, "k1", "approval", null],
      ["w0t0", "pay", { euros: 120 }, "k2", "unknownOutcome", 5],
    ]);
    expect(waiting[1]?.approvals).toEqual([]);
    expect(waiting[1]?.cuts).toMatchObject([{ stream: "task:w0t0", reason: "system changed", price, instead: null }]);
    for (const { run } of [first, second]) await run.write([event("RunFailed")], failed);
    expect(await overview.waiting("suite")).toEqual([]);
  });

  test("streams that crash, stepped back, are taken by nobody, or whose worker is gone; not those that work", async () => {
    const long = STUCK_AFTER_MS + 5_000;
    const older = (table: string, column: string, runId: string) =>
      sql(`UPDATE agent_suite.${table} SET ${column} = ${column} - $2::int * interval '1 ms' WHERE run_id = $1`, [
        runId,
        long,
      ]);
    const well = await aTask();
    const crashing = await aTask();
    await sql("UPDATE agent_suite.streams SET attempts = 4 WHERE run_id = $1 AND stream_id <> 'run'", [crashing.runId]);
    const back = await b.run();
    await b.store.watch.defer(b.stream(back), { code: "generation.older", message: "newer code wrote it" }, 1_000);
    const unclaimed = await b.run();
    await older("runs", "created_at", unclaimed);
    await older("events", "recorded_at", unclaimed);
    const silent = await aTask();
    await older("streams", "lease_until", silent.runId);
    await older("streams", "lease_until", silent.runId);

    const stuck = await overview.stuck("suite");
    const whys = (runId: string) => stuck.flatMap((s) => (s.runId === runId ? [`${s.streamId} ${s.why}`] : []));
    expect(whys(well.runId)).toEqual([]);
    expect(whys(crashing.runId)).toEqual(["task:w0t0 crashing"]);
    expect(whys(back)).toEqual(["run steppedBack"]);
    expect(stuck.find((s) => s.runId === back)?.problem).toEqual({
      code: "generation.older",
      message: "newer code wrote it",
    });
    expect(whys(unclaimed)).toEqual(["run unclaimed"]);
    expect(whys(silent.runId).sort()).toEqual(["run silent", "task:w0t0 silent"]);
  });

  test("what today cost: answers of today alone", async () => {
    expect(await overview.paidToday("empty")).toEqual({ nanoUsd: 0, simulated: false });
    const before = (await overview.paidToday("suite")).nanoUsd;
    const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 };
    const answer = (usd: number) => event("LlmCallCompleted", { usage, cost: { usd, simulated: true } });
    const [today, yesterday] = [await aTask(), await aTask()];
    await today.task.write([answer(0.25)]);
    await yesterday.task.write([answer(1)]);
    await sql("UPDATE agent_suite.streams SET paid_day = paid_day - 1 WHERE run_id = $1", [yesterday.runId]);
    expect(await overview.paidToday("suite")).toEqual({ nanoUsd: before + 250_000_000, simulated: true });
  });
});

test("a call's large arguments come as they were, in a run's approvals; the overview leaves them out", async () => {
  const large = { text: "x".repeat(PAYLOAD_INLINE_BYTES + 1) };
  const { runId, task } = await aTask();
  await task.write([asked("large", { args: large })]);
  await parked(task, "approval");
  expect((await b.store.tasks.approvals("suite", runId)).map((a) => a.args)).toEqual([large]);
  const waiting = (await overview.waiting("suite")).find((run) => run.runId === runId);
  expect(waiting?.approvals.map(({ tool, args, large: left }) => [tool, args, left])).toEqual([["pay", null, true]]);
});
