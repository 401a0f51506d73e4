// What is done to runs from outside: fired by a clock, forked, erased. Whoever does it is killed right after each of its writes, or loses the write's reply;
// then somebody does it again. It is done once, whole.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { type Fate, fate, mortal } from "../../local/testing/mortal.ts";
import { orDead } from "../../local/testing/worker.ts";
import { cronTimes } from "../../shared/adapters/cron/croner.ts";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { createSchedules } from "../../shared/adapters/store/schedules.ts";
import { eraseRun } from "../../shared/engine/erase-runs.ts";
import { fireSchedules } from "../../shared/engine/fire-schedules.ts";
import { forkRun } from "../../shared/engine/fork-run.ts";
import { AGENT, type EngineTest, engineTest, until } from "../engine/support.ts";
import { ROOT } from "../repo/files.ts";
import { role, workflow } from "../support/agents.ts";
import { checkLog, dumpDatabase } from "../support/log-checker.ts";
import type { Stack } from "../support/stack.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => {
  const wrong = checkLog(await dumpDatabase(t.database.pool, AGENT));
  await clean();
  expect(wrong).toEqual([]);
});
afterAll(async () => await t.close());

async function clean(): Promise<void> {
  await t.reset();
  await t.sql("DELETE FROM toren_control.schedules");
}
const stackWith = (hand: Fate = fate()): Stack =>
  t.stack(
    [role("r")],
    workflow(async (ctx) => [await ctx.ask("r", "a"), await ctx.ask("r", "b")]),
    { model: createScriptedModel(() => "said"), fate: hand },
  );

interface Act {
  /** Before the disturbance. */
  prepare(): Promise<void>;
  /** Once more than once: the second time by somebody whom nothing happens to. */
  act(stack: Stack, hand: Fate): Promise<unknown>;
  whole(): Promise<void>;
}

/** Undisturbed, then killed after every write, then with every write's reply lost. */
async function atEveryWrite({ prepare, act, whole }: Act): Promise<number> {
  const counted = fate();
  await prepare();
  await act(stackWith(counted), counted);
  await whole();
  for (let n = 1; n <= counted.writes; n++)
    for (const how of ["kill", "loseReply"] as const) {
      await clean();
      await prepare();
      const hand = fate(n, how);
      await orDead(
        Promise.resolve(act(stackWith(hand), hand)).catch(() => {}),
        hand,
      );
      await Promise.allSettled(hand.underWay);
      await act(stackWith(), fate());
      await whole().catch((e: Error) => {
        throw new Error(`${how} at write ${n} of ${counted.writes}: ${e.message}`);
      });
    }
  return counted.writes;
}

const EVERY_MINUTE = {
  agent: AGENT,
  process: "main",
  input: "x",
  cron: "* * * * *",
  zone: "UTC",
  nextAt: 0,
  createdBy: "ann",
};

const MISSED = 4;
async function dueSchedules(): Promise<void> {
  const schedules = createSchedules(t.database);
  for (const catchUp of ["all", "last"] as const) await schedules.create({ ...EVERY_MINUTE, name: catchUp, catchUp });
  await t.sql(
    "UPDATE toren_control.schedules SET next_at = date_trunc('minute', clock_timestamp()) - $1::int * interval '1 minute'",
    [MISSED - 1],
  );
}

/** Every time once, each with its run; no run without a time; every run will be looked at. */
async function expectFiredOnce(): Promise<void> {
  const [sums] = await t.sql<Record<string, number>>(
    `SELECT count(*) FILTER (WHERE s.name = 'all')::int AS all, count(*) FILTER (WHERE s.name = 'last')::int AS last,
       count(DISTINCT (f.schedule_id, f.fire_at))::int AS times, count(DISTINCT f.run_id)::int AS runs, count(r.run_id)::int AS made,
       (SELECT count(*)::int FROM agent_${AGENT}.runs) AS there,
       (SELECT count(*)::int FROM agent_${AGENT}.streams WHERE wake_at IS NOT NULL) AS watched,
       (extract(epoch FROM max(f.fire_at) FILTER (WHERE s.name = 'all') - min(f.fire_at) FILTER (WHERE s.name = 'all')) / 60)::int AS span
     FROM toren_control.schedule_fires f JOIN toren_control.schedules s USING (schedule_id) LEFT JOIN agent_${AGENT}.runs r USING (run_id)`,
  );
  const { all = 0, last = 0, times, runs, made, there, watched, span } = sums ?? {};
  // A minute may have begun meanwhile: it is due as well.
  expect(all === MISSED || all === MISSED + 1).toBe(true);
  expect(last === 1 || last === 2).toBe(true);
  expect({ times, runs, made, there, watched, span }).toEqual({
    times: all + last,
    runs: all + last,
    made: all + last,
    there: all + last,
    watched: all + last,
    span: all - 1,
  });
}

describe("killed after every write, and the reply of every write lost", () => {
  test("schedules: each time fires exactly once", async () => {
    const writes = await atEveryWrite({
      prepare: dueSchedules,
      act: (stack, hand) =>
        fireSchedules({ ...stack.deps, schedules: createSchedules(mortal(t.database, hand)), cron: cronTimes }),
      whole: expectFiredOnce,
    });
    expect(writes).toBeGreaterThanOrEqual(2 * MISSED);
  }, 60_000);

  test("a fork: one run, whole, and nothing on record is paid again", async () => {
    let source = "";
    const act: Act["act"] = (stack) =>
      forkRun(stack.deps, { agent: AGENT, runId: source, from: "w1", rerun: false, by: "ann", idempotencyKey: "k" });
    const writes = await atEveryWrite({
      prepare: async () => {
        const stack = stackWith();
        source = await stack.start(AGENT, "x");
        await stack.drive({ agent: AGENT, runId: source });
      },
      act,
      whole: async () => {
        const forks = await t.sql<{ run_id: string }>(`SELECT run_id FROM agent_${AGENT}.runs WHERE forked_from = $1`, [
          source,
        ]);
        expect(forks).toHaveLength(1);
        const model = createScriptedModel(() => "said");
        const runId = forks[0]?.run_id ?? "";
        const stack = t.stack(
          [role("r")],
          workflow(async (ctx) => [await ctx.ask("r", "a"), await ctx.ask("r", "b")]),
          { model },
        );
        expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ output: ["said", "said"] });
        expect(model.ledger).toHaveLength(1);
      },
    });
    expect(writes).toBeGreaterThan(0);
  }, 60_000);

  test("an erasure: nothing of the run is left, and nothing of another is gone", async () => {
    let [gone, kept] = ["", ""];
    const rowsOf = async (runId: string): Promise<number> => {
      const tables = await t.sql<{ name: string }>(
        `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.columns
         WHERE column_name = 'run_id' AND (table_schema = 'agent_${AGENT}' OR table_name = 'run_index')`,
      );
      let sum = 0;
      for (const { name } of tables)
        sum +=
          (await t.sql<{ n: number }>(`SELECT count(*)::int AS n FROM ${name} WHERE run_id = $1`, [runId]))[0]?.n ?? 0;
      return sum;
    };
    let before = 0;
    const writes = await atEveryWrite({
      prepare: async () => {
        const stack = stackWith();
        for (const set of [(id: string) => (gone = id), (id: string) => (kept = id)]) {
          const runId = await stack.start(AGENT, "x");
          await stack.drive({ agent: AGENT, runId });
          set(runId);
        }
        before = await rowsOf(kept);
      },
      act: (stack) => eraseRun(stack.deps, { agent: AGENT, runId: gone }),
      whole: async () => expect([await rowsOf(gone), await rowsOf(kept)]).toEqual([0, before]),
    });
    expect(writes).toBeGreaterThan(0);
  }, 60_000);
});

test("guardians that are killed for good, anywhere: each time fires exactly once", async () => {
  const schedules = createSchedules(t.database);
  const SCHEDULES = 12;
  for (let n = 0; n < SCHEDULES; n++) await schedules.create({ ...EVERY_MINUTE, name: `s${n}`, catchUp: "all" });
  await t.sql(
    "UPDATE toren_control.schedules SET next_at = date_trunc('minute', clock_timestamp()) - interval '9 minutes'",
  );
  const fires = async (): Promise<number> =>
    (await t.sql<{ n: number }>("SELECT count(*)::int AS n FROM toren_control.schedule_fires"))[0]?.n ?? 0;
  const { rows } = await t.database.pool.query<{ name: string }>("SELECT current_database() AS name");
  const url = new URL(process.env.TOREN_TEST_SERVER ?? "");
  url.pathname = `/${rows[0]?.name}`;
  // Each guardian is a process, and dies by SIGKILL as soon as it is seen at work: in the middle of what comes next.
  for (let killed = 0; killed < 3; killed++) {
    const before = await fires();
    const script = join(ROOT, "test/kill-matrix/guardian-process.ts");
    const child = spawn(process.execPath, ["--no-warnings", script, url.href, AGENT], { stdio: "inherit" });
    const gone = once(child, "exit");
    await until(async () => (await fires()) > before || child.exitCode !== null, 30_000);
    child.kill("SIGKILL");
    await gone;
  }
  expect(await fires()).toBeLessThan(SCHEDULES * 10);
  await until(async () => {
    await fireSchedules({ ...stackWith().deps, schedules, cron: cronTimes });
    return (await t.sql("SELECT 1 FROM toren_control.schedules WHERE next_at <= clock_timestamp()")).length === 0;
  }, 30_000);
  const perSchedule = await t.sql<{ fires: number; times: number; runs: number; span: number }>(
    `SELECT count(*)::int AS fires, count(DISTINCT fire_at)::int AS times, count(DISTINCT r.run_id)::int AS runs,
       (extract(epoch FROM max(fire_at) - min(fire_at)) / 60)::int + 1 AS span
     FROM toren_control.schedule_fires f LEFT JOIN agent_${AGENT}.runs r USING (run_id) GROUP BY schedule_id`,
  );
  expect(perSchedule).toHaveLength(SCHEDULES);
  for (const { fires: n, ...others } of perSchedule) {
    expect(n).toBeGreaterThanOrEqual(10);
    expect(others).toEqual({ times: n, runs: n, span: n });
  }
}, 120_000);
