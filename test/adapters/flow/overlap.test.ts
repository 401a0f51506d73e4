// Statements that are known to overlap: each has taken its snapshot, and waits for a gate's row that somebody holds. What they must not do is go by the
// snapshot. And what is said in the header of pass-gates.sql about counters, twins and old gates.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type { Pool } from "pg";
import { createPostgresFlow } from "../../../shared/adapters/flow/postgres.ts";
import { FLOW_FORGET_MS, FLOW_SETTLE_MS } from "../../../shared/core/limits.ts";
import type { Call, Flow, Gate } from "../../../shared/ports/flow.ts";
import type { StreamRef } from "../../../shared/ports/store.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { forgetGates, miscounted, passFlowTime } from "../../support/flow.ts";

const LEASE_MS = 60_000;
let db: TestDatabase;
let flow: Flow;
let other: Flow;
let third: Flow;
/** SQLSTATEs of statements that were sent anew. */
const refused: string[] = [];
beforeAll(async () => {
  db = await testDatabase({ appends: 6 });
  const appends = noting(db.database.appends);
  [flow, other, third] = [1, 2, 3].map(() => createPostgresFlow({ appends })) as [Flow, Flow, Flow];
});
afterAll(() => db.drop());
beforeEach(async () => {
  refused.length = 0;
  await forgetGates(db.database);
});

const noting = (pool: Pool): Pool => {
  const query = (...args: unknown[]): Promise<unknown> =>
    (pool.query as (...a: unknown[]) => Promise<unknown>).apply(pool, args).catch((e: unknown) => {
      refused.push((e as { code: string }).code);
      throw e;
    });
  return new Proxy(pool, { get: (target, name) => (name === "query" ? query : Reflect.get(target, name, target)) });
};

const run = randomUUID();
const stream = (n: number): StreamRef => ({ agent: "crew", runId: run, streamId: `task:w0t${n}` });
const gate = (key: string, max: number): Gate => ({ key, max, rate: null });
const one = gate("model:m", 1);
const enter = async (own: Flow, n: number, ...gates: Gate[]) => (await own.enter(stream(n), gates, LEASE_MS)).type;
const ids = (calls: readonly Call[]): string[] => calls.map((c) => c.stream.streamId);
const query = async (sql: string) => (await db.database.pool.query(sql)).rows;

/** Starts all of it, one after the other, while the gate's row is held, and lets go when all of them wait for it. */
async function together<T>(key: string, begin: readonly (() => Promise<T>)[]): Promise<T[]> {
  const client = await db.database.pool.connect();
  try {
    await client.query("BEGIN");
    await client.query("SELECT FROM toren_control.gates WHERE key = $1 FOR UPDATE", [key]);
    const begun: Promise<T>[] = [];
    const end = Date.now() + 10_000;
    for (const start of begin) {
      begun.push(start());
      for (let waiting = 0; waiting < begun.length; await sleep(5)) {
        const { rows } = await db.database.pool.query<{ n: number }>(
          "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        waiting = rows[0]?.n ?? 0;
        if (Date.now() > end) throw new Error(`${waiting} of ${begun.length} statements wait`);
      }
    }
    await client.query("COMMIT");
    return await Promise.all(begun);
  } finally {
    client.release(true); // with whatever it still holds
  }
}

test("newcomers that waited for the row: only as many as there is room for, though none sees the other's place", async () => {
  const two = gate("model:m", 2);
  await enter(flow, 1, two);
  const types = await together("model:m", [
    () => enter(flow, 2, two),
    () => enter(other, 3, two),
    () => enter(third, 4, two),
  ]);
  expect(types).toEqual(["entered", "wait", "wait"]);
  expect(await miscounted(db.database)).toEqual([]);
});

test("a place that is left while a newcomer waits for the row is the newcomer's", async () => {
  await enter(flow, 1, one);
  const [, type] = await together<unknown>("model:m", [
    () => flow.leave(stream(1), ["model:m"]),
    () => enter(other, 2, one),
  ]);
  expect(type).toBe("entered");
});

test("who began to wait while the leaving stream waited for the row is called: it isn't in that statement's snapshot", async () => {
  await enter(flow, 1, one);
  const [type, calls] = await together<unknown>("model:m", [
    () => enter(other, 2, one),
    () => flow.leave(stream(1), ["model:m"]),
  ]);
  expect(type).toBe("wait");
  expect(ids(calls as Call[])).toEqual([stream(2).streamId]);
});

test("who was called by another meanwhile isn't called again", async () => {
  const two = gate("model:m", 2);
  for (const n of [1, 2, 3, 4]) await enter(flow, n, two);
  await passFlowTime(db.database, FLOW_SETTLE_MS);
  const calls = await together("model:m", [
    () => flow.leave(stream(1), ["model:m"]),
    () => other.leave(stream(2), ["model:m"]),
  ]);
  expect(calls.map(ids)).toEqual([[stream(3).streamId], [stream(4).streamId]]);
});

test("twins of one stream, the second sent while the first was under way: one place", async () => {
  const two = gate("model:m", 2);
  await enter(flow, 1, two);
  const types = await together("model:m", [() => enter(flow, 2, two), () => enter(other, 2, two)]);
  expect(types).toEqual(["entered", "entered"]);
  expect(refused).toEqual(["23505"]);
  expect(await query("SELECT inside, waiting FROM toren_control.gates")).toEqual([{ inside: 2, waiting: 0 }]);
  expect(await miscounted(db.database)).toEqual([]);
});

test("a gate that several make at once is one gate", async () => {
  const types = await Promise.all([flow, other, third].map((own, n) => enter(own, n, gate("model:new", 2))));
  expect(types.sort()).toEqual(["entered", "entered", "wait"]);
  expect(await miscounted(db.database)).toEqual([]);
});

test("gates in any order don't deadlock", async () => {
  const keys = ["agent:crew", "model:a", "model:b", "wave:r:0"];
  const gates = keys.map((key) => gate(key, 3));
  const work = async (own: Flow, n: number): Promise<void> => {
    for (let round = 0; round < 25; round++) {
      const some = gates.filter((_, i) => (round + i + n) % 3 !== 0);
      const mine = (round + n) % 2 === 0 ? some : some.toReversed();
      await own.enter(stream(n), mine, LEASE_MS);
      await own.renew([stream(n), stream((n + 1) % 6)], LEASE_MS);
      await own.leave(stream(n), mine.map((g) => g.key).toReversed());
    }
  };
  await Promise.all([flow, other, third, flow, other, third].map(work));
  expect(refused.filter((code) => code !== "23505")).toEqual([]);
  expect(await query("SELECT key FROM toren_control.gate_entries WHERE inside")).toEqual([]);
  expect(await miscounted(db.database)).toEqual([]);
});

test("the longest cool-down wins also when the shorter one waited for the row", async () => {
  await flow.coolDown("model:m", 1_000);
  await together("model:m", [() => flow.coolDown("model:m", 60_000), () => other.coolDown("model:m", 5_000)]);
  const { now, until } = await flow.coolDowns();
  expect((until.get("model:m") ?? 0) - now).toBeGreaterThan(50_000);
});

test("a counter that went wrong is mended by whoever looks again", async () => {
  await enter(flow, 1, one);
  await enter(flow, 2, one);
  await flow.leave(stream(1), ["model:m"]);
  await query("UPDATE toren_control.gates SET inside = 900, waiting = 40");
  expect(await enter(flow, 3, one)).toBe("wait");
  expect(await enter(flow, 2, one)).toBe("entered");
  await flow.leave(stream(2), ["model:m"]);
  expect(await enter(flow, 3, one)).toBe("entered");
  expect(await miscounted(db.database)).toEqual([]);
});

test("all of it may be emptied at any time: it costs waiting time alone", async () => {
  await enter(flow, 1, one);
  await enter(flow, 2, one);
  await forgetGates(db.database);
  await flow.renew([stream(1)], LEASE_MS);
  expect(ids(await flow.leave(stream(1), ["model:m"]))).toEqual([]);
  expect(await enter(flow, 2, one)).toBe("entered");
});

test("old gates are forgotten when new ones are made, those that somebody is at or that cool down are not", async () => {
  await enter(flow, 1, gate("wave:old:0", 1));
  await flow.leave(stream(1), ["wave:old:0"]);
  await enter(flow, 2, gate("wave:dead:0", 1)); // its holder dies
  await enter(flow, 3, gate("wave:long:0", 1));
  await flow.coolDown("model:hot", 10 * FLOW_FORGET_MS);
  await enter(flow, 4, gate("wave:young:0", 1));
  await flow.leave(stream(4), ["wave:young:0"]);
  await passFlowTime(db.database, FLOW_FORGET_MS);
  await flow.renew([stream(3)], LEASE_MS);
  await query("UPDATE toren_control.gates SET moved_at = clock_timestamp() WHERE key = 'wave:young:0'");
  await enter(flow, 5, gate("wave:new:0", 1));
  const keys = await query("SELECT key FROM toren_control.gates ORDER BY key");
  expect(keys.map((row) => row.key as string)).toEqual(["model:hot", "wave:long:0", "wave:new:0", "wave:young:0"]);
  expect(await query("SELECT key FROM toren_control.gate_entries WHERE key = 'wave:dead:0'")).toEqual([]);
});
