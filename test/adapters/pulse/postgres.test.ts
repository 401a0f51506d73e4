import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { createPulse } from "../../../shared/adapters/pulse/postgres.ts";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { PULSE_HORIZON_MS, PULSE_LATE_MS, PULSE_MS } from "../../../shared/core/limits.ts";
import type { Pulse } from "../../../shared/ports/pulse.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

let db: TestDatabase;
let pulse: Pulse;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, ["first", "second"]);
  pulse = createPulse(db.database);
});
afterAll(() => db.drop());
beforeEach(() => query("UPDATE toren_control.pulse SET next_at = '-infinity'"));
const query = (text: string, values: unknown[] = []) => db.database.pool.query(text, values);
const late = (ms: number) =>
  query("UPDATE toren_control.pulse SET next_at = clock_timestamp() - $1::int * interval '1 ms'", [ms]);

describe("the pulse", () => {
  test("is started by one of many who look at once, and goes then", async () => {
    const beats = await Promise.all(Array.from({ length: 12 }, () => pulse.start()));
    expect(beats.filter((beat) => beat !== null)).toHaveLength(1);
    const { rows } = await query(
      "SELECT extract(epoch FROM next_at - clock_timestamp())::float8 * 1000 AS ms FROM toren_control.pulse",
    );
    expect(rows[0].ms).toBeGreaterThan(PULSE_MS - 2_000);
    expect(rows[0].ms).toBeLessThanOrEqual(PULSE_MS);
  });

  test("I9: of a doubled message one is followed", async () => {
    const beat = (await pulse.start()) ?? 0;
    const followed = await Promise.all([pulse.rest(beat), pulse.rest(beat), pulse.rest(beat)]);
    expect(followed.filter(Boolean)).toHaveLength(1);
    const next = (await pulse.start()) ?? 0;
    expect(next).toBeGreaterThan(beat);
    expect(await pulse.rest(beat)).toBe(false); // an old one, late
    expect(await pulse.start()).toBeNull(); // which stopped nothing
    expect(await pulse.rest(next)).toBe(true);
  });

  test("a lost message is noticed once its beat is late", async () => {
    const lost = await pulse.start();
    await late(PULSE_LATE_MS - 2_000);
    expect(await pulse.start()).toBeNull();
    await late(PULSE_LATE_MS + 1);
    const again = await pulse.start();
    expect(again).not.toBeNull();
    expect(again).not.toBe(lost);
    expect(await pulse.rest(lost ?? 0)).toBe(false); // it came after all
  });
});

describe("whether anything is due soon", () => {
  const stream = async (agent: string, ms: number | null) => {
    const wake = ms === null ? "NULL" : `clock_timestamp() + ${ms} * interval '1 ms'`;
    await query(`UPDATE agent_${agent}.streams SET wake_at = ${wake}`);
  };
  beforeAll(async () => {
    const { createStore } = await import("../../../shared/adapters/store/postgres.ts");
    const run = {
      process: "main",
      mode: "task",
      input: {},
      generation: 1,
      codeHash: "h",
      idempotencyKey: null,
    } as const;
    const { NO_BUDGET } = await import("../../../shared/core/task/ledger.ts");
    await createStore(db.database).runs.create({
      ...run,
      agent: "second",
      runId: randomUUID(),
      files: [],
      budget: NO_BUDGET,
    });
  });

  test("is found in any agent's schema", async () => {
    await stream("second", 1_000);
    expect(await pulse.soon(["first", "second"])).toBe(true);
    expect(await pulse.soon(["first"])).toBe(false);
    expect(await pulse.soon([])).toBe(false);
  });

  test.each<[string, number | null, boolean]>([
    ["overdue", -60_000, true],
    ["within the horizon", PULSE_HORIZON_MS - 5_000, true],
    ["later", PULSE_HORIZON_MS + 60_000, false],
    ["waiting for a person", null, false],
  ])("a stream that is %s", async (_, ms, soon) => {
    await stream("second", ms);
    expect(await pulse.soon(["second"])).toBe(soon);
  });
});

test("a schema that can't be read hides no other agent's work, and is looked at soon", async () => {
  const agents = ["gone", "second"];
  await query("UPDATE agent_second.streams SET wake_at = clock_timestamp() - interval '90 s'");
  expect(await pulse.oldestReadyMs(agents)).toBeGreaterThanOrEqual(90_000);
  await query("UPDATE agent_second.streams SET wake_at = NULL");
  expect(await pulse.soon(["second"])).toBe(false);
  expect(await pulse.soon(agents)).toBe(true);
});

test("says for how long the oldest work has waited", async () => {
  const { rows } = await query(
    "SELECT extract(epoch FROM clock_timestamp() - created_at) * 1000 AS ms FROM agent_second.runs",
  );
  expect(await pulse.oldestReadyMs(["first", "second"])).toBeGreaterThanOrEqual(Math.floor(rows[0].ms)); // never taken
  await query("UPDATE agent_second.streams SET wake_at = clock_timestamp() - interval '90 s'");
  expect(await pulse.oldestReadyMs(["second"])).toBeGreaterThanOrEqual(90_000);
  expect(await pulse.oldestReadyMs(["first"])).toBe(0);
});

describe("a pass", () => {
  test("is made by one at a time, and its end is noted", async () => {
    const other = createPulse(db.database);
    let end = (): void => {};
    const under = pulse.alone(
      () =>
        new Promise<string>((resolve) => {
          end = () => resolve("passed");
        }),
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await other.alone(async () => "passed")).toBeNull();
    end();
    expect(await under).toBe("passed");
    expect(await other.alone(async () => "passed")).toBe("passed");
    expect((await query("SELECT passed_at FROM toren_control.pulse")).rows[0].passed_at).toBeInstanceOf(Date);
  });

  test("that fails lets the next one in", async () => {
    await expect(pulse.alone(() => Promise.reject(new Error("away")))).rejects.toThrow("away");
    expect(await pulse.alone(async () => 1)).toBe(1);
  });

  test("whose worker was killed holds nobody up", async () => {
    let end = (): void => {};
    const killed = pulse.alone(
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    await query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'",
    );
    for (let tries = 0; tries < 20; tries++) {
      if ((await pulse.alone(async () => 1)) === 1) {
        end();
        await expect(killed).rejects.toMatchObject({ code: "database.unavailable" });
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("the lock stayed");
  });
});
