// The worker for long tasks: what it takes, and the three reasons for which it ends.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type LongTaskDeps, workLong } from "../../functions/long-task.ts";
import { taskConsumer } from "../../functions/task.ts";
import { createPostgresQueue, type PostgresQueue } from "../../shared/adapters/queue/postgres.ts";
import { LONG_TASKS_PER_WORKER } from "../../shared/core/limits.ts";
import type { Circumstances, Worked } from "../../shared/engine/deps.ts";
import type { Hint } from "../../shared/ports/queue.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { silentLog } from "../support/log.ts";
import { engineOver, hintOfTask } from "../support/sqs.ts";

let db: TestDatabase;
let queue: PostgresQueue;
beforeAll(async () => {
  db = await testDatabase();
  queue = createPostgresQueue({ database: db.database, log: silentLog });
});
afterAll(async () => {
  await queue.close();
  await db.drop();
});
beforeEach(() => db.database.pool.query("DELETE FROM toren_control.queue_messages"));

type Task = (hint: Hint, at: Circumstances) => Promise<Worked>;

/** A worker whose polls take no time, and how it is told things. */
function worker(task: Task, more: Partial<LongTaskDeps> = {}) {
  const stop = new AbortController();
  const asked = new AbortController();
  const deps = { engine: engineOver(queue, silentLog), stop: stop.signal };
  const consumer = taskConsumer(deps, { runTask: (_, hint, at) => task(hint, at), runTick: async () => "parked" });
  const ended = workLong({
    consumer,
    queues: ["tasks-long"],
    log: silentLog,
    asked: asked.signal,
    isOutdated: async () => false,
    letGo: () => stop.abort(),
    sleep: (ms, signal) => delay(Math.min(ms, 20), undefined, signal === undefined ? {} : { signal }).catch(() => {}),
    ...more,
  });
  return { ended, asked, stop };
}
const send = (count: number) =>
  queue.send(Array.from({ length: count }, () => ({ queue: "tasks-long" as const, hint: hintOfTask() })));
const left = async (): Promise<number> =>
  (await db.database.pool.query("SELECT count(*)::int AS n FROM toren_control.queue_messages")).rows[0].n;
const never = new Promise<Worked>(() => {});

test("works on as many as it has room for, without a time limit, and ends when it has found nothing for a while", async () => {
  await send(LONG_TASKS_PER_WORKER + 6);
  let together = 0;
  let most = 0;
  const { ended } = worker(
    async (_, { remainingMs, deadline, solo }) => {
      expect([remainingMs(), deadline, solo]).toEqual([Number.POSITIVE_INFINITY, undefined, false]);
      most = Math.max(most, ++together);
      await delay(100);
      together--;
      return "ended";
    },
    { idleMs: 150 },
  );
  expect(await ended).toBe("idle");
  expect([most, await left()]).toEqual([LONG_TASKS_PER_WORKER, 0]);
}, 30_000);

test("one that is to stay doesn't end for want of work", async () => {
  const { ended, asked } = worker(async () => "ended", { idleMs: null });
  expect(await Promise.race([ended, delay(200, "still there")])).toBe("still there");
  asked.abort();
  expect(await ended).toBe("asked");
});

test("asked to end (SIGTERM), it has the engine let go at the next step boundary, takes nothing new, and doesn't wait for ever", async () => {
  await send(2);
  let begun = 0;
  const {
    ended,
    asked,
    stop: letGo,
  } = worker(async (_, { stop }) => {
    begun++;
    if (begun === 2) return await never; // a step that heeds nothing: left to others, after DRAIN_MS
    await new Promise((resolve) => stop.addEventListener("abort", resolve));
    return "handedOver";
  });
  while (begun < 2) await delay(10);
  asked.abort();
  while (!letGo.signal.aborted) await delay(5); // what it was just taking it may still have
  await send(1);
  expect(await ended).toBe("asked");
  expect([begun, await left()]).toEqual([2, 2]);
});

test("once newer code was deployed it ends its steps and goes, so that the next worker has that code", async () => {
  await send(1);
  let outdated = false;
  const { ended } = worker(
    async (_, { stop }) => {
      outdated = true;
      await new Promise((resolve) => stop.addEventListener("abort", resolve));
      return "handedOver";
    },
    { isOutdated: async () => outdated, outdatedEveryMs: 20 },
  );
  expect(await ended).toBe("outdated");
  expect(await left()).toBe(0);
});
