import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type { Context } from "aws-lambda";
import { createTaskHandler } from "../../functions/task.ts";
import type { TopUp } from "../../functions/top-up.ts";
import { localContext, toSqsEvent } from "../../local/sqs-event.ts";
import { createPostgresQueue, type PostgresQueue } from "../../shared/adapters/queue/postgres.ts";
import { TorenError } from "../../shared/core/errors.ts";
import { TOP_UP_UNTIL_MS } from "../../shared/core/limits.ts";
import type { Hint } from "../../shared/ports/queue.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { recordingLog } from "../support/log.ts";
import { engineOver, hintOfTask, receiveAll, until } from "../support/sqs.ts";

let db: TestDatabase;
let queue: PostgresQueue;
const log = recordingLog();
beforeAll(async () => {
  db = await testDatabase();
  queue = createPostgresQueue({ database: db.database, log });
});
afterAll(async () => {
  await queue.close();
  await db.drop();
});
beforeEach(async () => {
  await db.database.pool.query("DELETE FROM toren_control.queue_messages");
  log.entries.length = 0;
});

const context = (leftMs: () => number = () => 10 * 60_000): Context => ({
  ...localContext("task", "request-1"),
  getRemainingTimeInMillis: leftMs,
});
const sleeps: AbortSignal[] = [];
const topUp: TopUp = {
  queue: "tasks-short",
  slots: 3,
  heapPercent: () => 10,
  sleep: async (_, signal) => {
    if (signal !== undefined) sleeps.push(signal);
    await wait(20, undefined, signal === undefined ? {} : { signal }).catch(() => {});
  },
};
const handlerOf = (work: (hint: Hint) => Promise<"ended">, more: Partial<TopUp> = {}) =>
  createTaskHandler(
    { engine: engineOver(queue, log), stop: new AbortController().signal, topUp: { ...topUp, ...more } },
    { runTask: (_, hint) => work(hint), runTick: (_, hint) => work(hint) },
  );
const send = (hints: readonly Hint[], name: "tasks-short" | "tasks-solo" = "tasks-short") =>
  queue.send(hints.map((hint) => ({ queue: name, hint })));
const left = async (): Promise<number> =>
  (await db.database.pool.query("SELECT count(*)::int AS n FROM toren_control.queue_messages")).rows[0].n;
const first = async (max: number) => toSqsEvent((await queue.receive("tasks-short", max, 60_000)).slice(0, max));

test("one invocation works a queue off, never on more than its slots at once, and leaves no timer behind", async () => {
  let now = 0;
  let most = 0;
  const handle = handlerOf(async () => {
    most = Math.max(most, ++now);
    await wait(10);
    now--;
    return "ended";
  });
  await send(Array.from({ length: 17 }, () => hintOfTask()));
  expect(await handle(await first(2), context())).toEqual({ batchItemFailures: [] });
  expect(await left()).toBe(0);
  expect(most).toBe(3);
  expect(sleeps.every((signal) => signal.aborted)).toBe(true);
});

test("a slow task keeps its slot, and what comes meanwhile is taken into the others", async () => {
  let finish = (): void => {};
  const slow = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const worked: string[] = [];
  const [long, ...others] = Array.from({ length: 4 }, () => hintOfTask());
  const handle = handlerOf(async (hint) => {
    if (hint.runId === long?.runId) await slow;
    worked.push(hint.runId);
    return "ended";
  });
  await send(long === undefined ? [] : [long]);
  const handling = handle(await first(1), context());
  for (const other of others) {
    await send([other]);
    await until(() => worked.includes(other.runId));
  }
  expect(worked).toHaveLength(3);
  finish();
  await handling;
  expect(await left()).toBe(0);
});

test.each<[string, Partial<TopUp>, number]>([
  ["there is too little time left", {}, TOP_UP_UNTIL_MS],
  ["the heap is full", { heapPercent: () => 60 }, 10 * 60_000],
])("nothing more is taken in when %s", async (_, more, leftMs) => {
  const handle = handlerOf(async () => "ended", more);
  await send(Array.from({ length: 5 }, () => hintOfTask()));
  await handle(
    await first(2),
    context(() => leftMs),
  );
  expect(await left()).toBe(3);
});

test("a message taken in that fails is hidden for a while, and isn't named to whom it is unknown", async () => {
  const [good, bad] = [hintOfTask(), hintOfTask()];
  const handle = handlerOf(async (hint) => {
    if (hint.runId === bad.runId) throw new TorenError("database.unavailable", "away");
    await wait(50);
    return "ended";
  });
  await send([good]);
  const event = await first(1);
  await send([bad]);
  expect(await handle(event, context())).toEqual({ batchItemFailures: [] });
  expect(await left()).toBe(1);
  expect(await receiveAll(queue, "tasks-short")).toEqual([]); // hidden
});

test("one of the event that fails is named", async () => {
  const handle = handlerOf(async () => {
    throw new TorenError("database.unavailable", "away");
  });
  await send([hintOfTask()]);
  const event = await first(1);
  const answer = await handle(event, context());
  expect(answer.batchItemFailures).toEqual([{ itemIdentifier: event.Records[0]?.messageId }]);
});

test("a queue that doesn't answer ends nobody's work", async () => {
  const deaf = { ...queue, receive: () => Promise.reject(new TorenError("queue.unavailable", "away")) };
  const handle = createTaskHandler(
    { engine: engineOver(deaf, log), stop: new AbortController().signal, topUp },
    { runTask: async () => "ended", runTick: async () => "ended" },
  );
  await send([hintOfTask()]);
  expect(await handle(await first(1), context())).toEqual({ batchItemFailures: [] });
  expect(log.entries).toContainEqual(expect.objectContaining({ level: "warn", what: "no more taken in" }));
});

test("what runs alone stays alone", async () => {
  await send([hintOfTask()], "tasks-solo");
  await send([hintOfTask()]);
  const event = toSqsEvent(await queue.receive("tasks-solo", 1, 60_000));
  await handlerOf(async () => "ended")(event, context());
  expect(await left()).toBe(1);
});
