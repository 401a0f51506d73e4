// Schedules over a real Postgres: each time fires once, whoever looks and whoever dies.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { cronTimes } from "../../shared/adapters/cron/croner.ts";
import { openUrl } from "../../shared/adapters/database/url.ts";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { createSchedules } from "../../shared/adapters/store/schedules.ts";
import { SCHEDULE_CATCH_UP_MAX, SCHEDULE_LATE_MS } from "../../shared/core/limits.ts";
import { dueTimes } from "../../shared/engine/catch-up.ts";
import { type FireDeps, fireSchedules } from "../../shared/engine/fire-schedules.ts";
import { changeSchedule, createSchedule, type ScheduleRequest } from "../../shared/engine/schedules.ts";
import type { Database } from "../../shared/ports/database.ts";
import type { Schedule, Schedules } from "../../shared/ports/schedules.ts";
import { role, workflow } from "../support/agents.ts";
import { AGENT, type EngineTest, engineTest } from "./support.ts";

let t: EngineTest;
let schedules: Schedules;
let deps: FireDeps & Parameters<typeof createSchedule>[0];
const model = createScriptedModel(() => "done");
const main = workflow(async (ctx) => await ctx.ask("writer", ctx.input));
beforeAll(async () => {
  t = await engineTest();
  schedules = createSchedules(t.database);
});
/** The schedules here fire by the minute: a test that a new minute begins in would see one time more. */
const MINUTE_LEFT_S = 12;
beforeEach(async () => {
  await t.sql(
    "SELECT CASE WHEN left_s < $1 THEN pg_sleep(left_s + 0.1) END FROM (SELECT 60 - extract(second FROM clock_timestamp())::float8 AS left_s) clock",
    [MINUTE_LEFT_S],
  );
  await t.reset();
  await t.sql("DELETE FROM toren_control.schedules");
  await t.sql("DELETE FROM toren_control.audit");
  deps = { ...t.stack([role("writer")], main, { model }).deps, schedules, cron: cronTimes };
});
afterAll(() => t.close());

const request: ScheduleRequest = {
  name: "nightly",
  agent: AGENT,
  process: "main",
  input: { ask: "x" },
  cron: "* * * * *",
  zone: "UTC",
  catchUp: "last",
  enabled: true,
};
const make = async (more: Partial<ScheduleRequest> = {}): Promise<Schedule> => {
  const made = await createSchedule(deps, { ...request, ...more }, "boss");
  if (made.type === "refused") throw new Error(made.error.message);
  return made.schedule;
};
/** As if nobody had been there for so long. */
const away = async (minutes: number, id?: string): Promise<void> => {
  await t.sql(
    `UPDATE toren_control.schedules SET next_at = date_trunc('minute', clock_timestamp()) - $1::int * interval '1 minute'
     WHERE $2::uuid IS NULL OR schedule_id = $2::uuid`,
    [minutes, id ?? null],
  );
};
const fires = async (): Promise<{ at: Date; run_id: string }[]> =>
  t.sql("SELECT fire_at AS at, run_id FROM toren_control.schedule_fires ORDER BY fire_at");
const runs = async (): Promise<{ run_id: string; input: unknown; attributes: unknown }[]> =>
  t.sql(`SELECT run_id, input, attributes FROM agent_${AGENT}.runs ORDER BY created_at`);

describe("firing", () => {
  test("a time that has come becomes a run that is found by its schedule, once", async () => {
    const { id } = await make();
    expect(await fireSchedules(deps)).toEqual({ fired: 0 });
    await away(0);
    expect(await fireSchedules(deps)).toEqual({ fired: 1 });
    expect(await fireSchedules(deps)).toEqual({ fired: 0 });
    const [run] = await runs();
    expect([await runs(), run]).toEqual([
      [run],
      { run_id: expect.anything(), input: { ask: "x" }, attributes: { schedule: "nightly" } },
    ]);
    expect((await fires()).map((fire) => fire.run_id)).toEqual([run?.run_id]);
    const after = await schedules.get(id);
    expect(after).toMatchObject({ last: { runId: run?.run_id }, problem: null });
    expect((after?.nextAt ?? 0) - (after?.last?.at ?? 0)).toBe(60_000);
    expect((await deps.store.runs.list({ attributes: { schedule: "nightly" }, limit: 5 })).runs).toHaveLength(1);
    expect(await t.sql("SELECT by_name, action, run_id FROM toren_control.audit")).toEqual([
      { by_name: "schedule nightly", action: "run.started", run_id: run?.run_id },
    ]);
  });

  test("the run works like any other", async () => {
    const own = t.stack([role("writer")], main, { model });
    await make();
    await away(0);
    await fireSchedules({ ...own.deps, schedules, cron: cronTimes });
    const [run] = await runs();
    expect(await own.drive({ agent: AGENT, runId: run?.run_id ?? "" })).toMatchObject({
      status: "completed",
      output: "done",
    });
  });

  test("eight guardians with connections of their own fire each time once, and all of them", async () => {
    const others: Database[] = [];
    try {
      const { rows } = await t.database.pool.query("SELECT current_database() AS name");
      const url = new URL(process.env.TOREN_TEST_SERVER ?? "");
      url.pathname = `/${rows[0].name}`;
      for (let i = 0; i < 8; i++) others.push(await openUrl(url.href, { appends: 1, pool: 1 }));
      for (let i = 0; i < 10; i++) await make({ name: `s${i}`, catchUp: i % 2 === 0 ? "all" : "last" });
      await away(4);
      const guardians = others.map((database) => ({ ...deps, schedules: createSchedules(database) }));
      for (let pass = 0; pass < 2; pass++) await Promise.all(guardians.map((guardian) => fireSchedules(guardian)));
      // A minute may have begun meanwhile; each schedule then has it as well, at most once.
      const perSchedule = await t.sql<{ name: string; fires: number; times: number; runs: number }>(
        `SELECT s.name, count(*)::int AS fires, count(DISTINCT f.fire_at)::int AS times, count(DISTINCT r.run_id)::int AS runs
         FROM toren_control.schedules s JOIN toren_control.schedule_fires f USING (schedule_id) JOIN agent_${AGENT}.runs r USING (run_id)
         GROUP BY s.name ORDER BY s.name`,
      );
      expect(perSchedule).toHaveLength(10);
      for (const { name, fires: fired, times, runs: made } of perSchedule) {
        expect([name, times, made]).toEqual([name, fired, fired]);
        expect([name, Number(name.slice(1)) % 2 === 0 ? fired >= 5 : fired >= 1 && fired <= 2]).toEqual([name, true]);
      }
      expect(await runs()).toHaveLength(perSchedule.reduce((sum, row) => sum + row.fires, 0));
    } finally {
      for (const other of others) await other.close();
    }
  });

  test("a guardian that dies before the statement leaves the time due; one that dies after it has fired it, and its run is found", async () => {
    await make();
    await away(0);
    const dies = (when: "before" | "after"): FireDeps => ({
      ...deps,
      schedules: {
        ...schedules,
        fire: async (fire, run) => {
          if (when === "after") await schedules.fire(fire, run);
          throw new Error("killed");
        },
      },
    });
    expect(await fireSchedules(dies("before"))).toEqual({ fired: 0 });
    expect(await runs()).toEqual([]);
    expect(await fireSchedules(dies("after"))).toEqual({ fired: 0 });
    const made = await runs();
    expect(made).toHaveLength(1);
    expect(await fireSchedules(deps)).toEqual({ fired: 0 });
    expect(await runs()).toEqual(made);
    await t.sql(`UPDATE agent_${AGENT}.streams SET wake_at = clock_timestamp()`); // its grace is over
    expect(await deps.store.watch.due(AGENT, 10, 1_000)).toMatchObject([{ runId: made[0]?.run_id, streamId: "run" }]);
  });

  test("a schedule that is paused or changed while somebody is about to fire it doesn't fire", async () => {
    const paused = await make();
    await away(0);
    const slow: FireDeps = {
      ...deps,
      schedules: {
        ...schedules,
        fire: async (fire, run) => {
          await changeSchedule(deps, paused, { enabled: false });
          return await schedules.fire(fire, run);
        },
      },
    };
    expect(await fireSchedules(slow)).toEqual({ fired: 0 });
    expect([await runs(), await fires()]).toEqual([[], []]);
    expect(await schedules.get(paused.id)).toMatchObject({ nextAt: null });
  });

  test("what can't start says why, moves on, and keeps no other from firing", async () => {
    const broken = await make({ name: "broken" });
    await make({ name: "fine" });
    await t.sql("UPDATE toren_control.schedules SET process = 'gone' WHERE name = 'broken'");
    await away(0);
    expect(await fireSchedules(deps)).toEqual({ fired: 1 });
    const after = await schedules.get(broken.id);
    expect(after?.problem).toContain('no process "gone"');
    expect(after?.nextAt).toBeGreaterThan(Date.now() - 60_000);
    await t.sql("UPDATE toren_control.schedules SET process = 'main'");
    await away(0, broken.id);
    await fireSchedules(deps);
    expect(await schedules.get(broken.id)).toMatchObject({ problem: null });
  });

  test("what was missed: one, none, or all of it", async () => {
    await make({ name: "none", catchUp: "none", cron: "0 0 1 1 *" });
    await make({ name: "last" });
    await make({ name: "all", catchUp: "all" });
    await away(3);
    await fireSchedules(deps);
    const counts = await t.sql<{ name: string; n: number }>(
      `SELECT attributes ->> 'schedule' AS name, count(*)::int AS n FROM agent_${AGENT}.runs GROUP BY 1 ORDER BY 1`,
    );
    expect(counts[0]?.name).toBe("all");
    expect(counts[0]?.n).toBeGreaterThanOrEqual(4);
    expect(counts[1]).toEqual({ name: "last", n: 1 });
    expect(counts).toHaveLength(2);
  });
});

describe("which times fire", () => {
  const at = (text: string): number => Date.parse(`2026-11-30T${text}:00Z`);
  const due = (catchUp: Schedule["catchUp"], nextAt: string, now: string, cron = "0 * * * *") =>
    dueTimes(cronTimes, { cron, zone: "UTC", catchUp, nextAt: at(nextAt) }, at(now));

  test("one that is in time fires under every policy", () => {
    for (const catchUp of ["none", "last", "all"] as const)
      expect(due(catchUp, "09:00", "09:00")).toEqual({ fires: [at("09:00")], next: at("10:00") });
  });

  test("after an outage: none of them, the last, all in their order", () => {
    expect(due("none", "06:00", "09:30")).toEqual({ fires: [], next: at("10:00") });
    expect(due("none", "06:00", "09:04")).toEqual({ fires: [at("09:00")], next: at("10:00") });
    expect(SCHEDULE_LATE_MS).toBe(5 * 60_000);
    expect(due("last", "06:00", "09:30")).toEqual({ fires: [at("09:00")], next: at("10:00") });
    expect(due("all", "07:00", "09:30").fires).toEqual([at("07:00"), at("08:00"), at("09:00")]);
  });

  test("all of many are the last ones; a schedule's first time isn't before it was made", () => {
    const { fires: some } = due("all", "00:00", "09:30", "* * * * *");
    expect([some.length, some.at(-1)]).toEqual([SCHEDULE_CATCH_UP_MAX, at("09:30")]);
    expect(due("all", "09:00", "09:30").fires).toEqual([at("09:00")]);
  });
});

describe("making and changing", () => {
  test.each([
    [{ cron: "0 0 30 2 *" }, "schedule.invalid"],
    [{ cron: "every day" }, "schedule.invalid"],
    [{ zone: "Mars/Base" }, "schedule.invalid"],
    [{ agent: "nobody" }, "agent.unknown"],
    [{ process: "nothing" }, "process.unknown"],
    [{ input: "x".repeat(70_000) }, "payload.too_large"],
  ] as const)("%j is refused with %s, and nothing is kept", async (more, code) => {
    expect(await createSchedule(deps, { ...request, ...more }, "boss")).toMatchObject({ error: { code } });
    expect(await schedules.list()).toEqual([]);
  });

  test("an edit counts from now on, a pause forgets what passes, and what isn't given stays", async () => {
    const made = await make({ input: "a\u0000b" });
    expect(made).toMatchObject({ input: "a\u0000b", createdBy: "boss" });
    await away(10);
    const edited = await changeSchedule(deps, made, { cron: "0 0 1 1 *" });
    expect(edited).toMatchObject({ schedule: { name: "nightly", cron: "0 0 1 1 *", input: "a\u0000b" } });
    expect(await fireSchedules(deps)).toEqual({ fired: 0 });
    const paused = await changeSchedule(deps, made, { enabled: false });
    expect(paused).toMatchObject({ schedule: { nextAt: null } });
    await schedules.remove(made.id);
    expect(await changeSchedule(deps, made, { enabled: true })).toMatchObject({ error: { code: "not_found" } });
    expect(await schedules.remove(made.id)).toBe(false);
  });
});
