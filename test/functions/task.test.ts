import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { createTaskHandler } from "../../functions/task.ts";
import { localContext, toSqsEvent } from "../../local/sqs-event.ts";
import { createPostgresQueue, type PostgresQueue } from "../../shared/adapters/queue/postgres.ts";
import { TorenError } from "../../shared/core/errors.ts";
import { RECEIVES_MAX } from "../../shared/core/limits.ts";
import type { Circumstances, Worked } from "../../shared/engine/deps.ts";
import type { Hint } from "../../shared/ports/queue.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { recordingLog } from "../support/log.ts";
import { engineOver, hintOfTask, receiveAll } from "../support/sqs.ts";

let db: TestDatabase;
let queue: PostgresQueue;
const log = recordingLog();
const stop = new AbortController().signal;
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

const context = localContext("task", "request-1");
type Task = (hint: Hint, at: Circumstances) => Promise<Worked>;
const handlerOf = (task: Task, tick: Task = task) =>
  createTaskHandler(
    { engine: engineOver(queue, log), stop },
    { runTask: (_, hint, at) => task(hint, at), runTick: (_, hint, at) => tick(hint, at) },
  );
const sendTasks = (hints: readonly Hint[]) => queue.send(hints.map((hint) => ({ queue: "tasks-short", hint })));
const left = async (): Promise<number> =>
  (await db.database.pool.query("SELECT count(*)::int AS n FROM toren_control.queue_messages")).rows[0].n;

describe("the task handler", () => {
  test("c15: of ten messages with one poison nine are deleted; the tenth is retried, then a dead letter", async () => {
    const hints = Array.from({ length: 10 }, () => hintOfTask());
    const poison = hints[4];
    const seen: string[] = [];
    const handle = handlerOf(async (hint) => {
      seen.push(hint.runId);
      if (hint.runId === poison?.runId) throw new TorenError("bug", "poison");
      return "ended";
    });
    await sendTasks(hints);
    const messages = await receiveAll(queue, "tasks-short");
    expect(messages).toHaveLength(10);
    const answer = await handle(toSqsEvent(messages), context);
    const bad = messages.find((m) => JSON.parse(m.body).runId === poison?.runId);
    expect(answer.batchItemFailures).toEqual([{ itemIdentifier: bad?.messageId }]);
    expect(await left()).toBe(1);
    for (let receives = 2; receives <= RECEIVES_MAX; receives++) {
      await db.database.pool.query("UPDATE toren_control.queue_messages SET visible_at = clock_timestamp()"); // its wait is over
      const again = await receiveAll(queue, "tasks-short");
      expect(again).toMatchObject([{ receiveCount: receives }]);
      expect((await handle(toSqsEvent(again), context)).batchItemFailures).toHaveLength(1);
    }
    await db.database.pool.query("UPDATE toren_control.queue_messages SET visible_at = clock_timestamp()");
    expect(await receiveAll(queue, "tasks-short")).toEqual([]);
    expect(await queue.receiveDead(10, 60_000)).toHaveLength(1);
    expect(seen).toHaveLength(10 + RECEIVES_MAX - 1);
  });

  test("c15: a finished one that is delivered again changes nothing", async () => {
    const handle = handlerOf(async () => "terminal");
    await sendTasks([hintOfTask()]);
    const messages = await receiveAll(queue, "tasks-short");
    for (let twice = 0; twice < 2; twice++) {
      expect(await handle(toSqsEvent(messages), context)).toEqual({ batchItemFailures: [] });
    }
    expect(await left()).toBe(0);
  });

  test("works on ten at once, and acknowledges each as it settles, not when the slowest has", async () => {
    let finish = (): void => {};
    const slowest = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const hints = Array.from({ length: 10 }, () => hintOfTask());
    let atOnce = 0;
    const handle = handlerOf(async (hint) => {
      atOnce++;
      if (hint.runId === hints[0]?.runId) await slowest;
      return "ended";
    });
    await sendTasks(hints);
    const handling = handle(toSqsEvent(await receiveAll(queue, "tasks-short")), context);
    for (let tries = 0; tries < 200 && (await left()) > 1; tries++) await new Promise((r) => setTimeout(r, 10));
    expect(atOnce).toBe(10);
    expect(await left()).toBe(1);
    finish();
    expect((await handling).batchItemFailures).toEqual([]);
    expect(await left()).toBe(0);
  });

  test("a failed message is hidden for a while, longer each time", async () => {
    const handle = handlerOf(async () => {
      throw new TorenError("database.unavailable", "away");
    });
    await sendTasks([hintOfTask()]);
    const waits: number[] = [];
    for (let receives = 1; receives <= 3; receives++) {
      await handle(toSqsEvent(await receiveAll(queue, "tasks-short")), context);
      const { rows } = await db.database.pool.query(
        "SELECT extract(epoch FROM visible_at - clock_timestamp())::float8 AS wait FROM toren_control.queue_messages",
      );
      waits.push(rows[0].wait);
      await db.database.pool.query("UPDATE toren_control.queue_messages SET visible_at = clock_timestamp()");
    }
    expect(waits[0]).toBeLessThanOrEqual(1);
    expect(waits[1]).toBeGreaterThan(2);
    expect(waits[2]).toBeGreaterThan(8);
    expect(log.entries.filter((e) => e.level === "warn")).toMatchObject(
      Array(3).fill({ what: "message failed", fields: { code: "database.unavailable" } }),
    );
  });

  test.each([
    ["no JSON", "{"],
    ["no ids", "{}"],
    ["an agent that can't be one", JSON.stringify({ ...hintOfTask(), agent: "drop schema" })],
    ["a run that is no UUID", JSON.stringify({ ...hintOfTask(), runId: "1" })],
    ["a task of another form", JSON.stringify({ ...hintOfTask(), taskId: "../x" })],
  ])("a body with %s fails alone, without work", async (_, body) => {
    await sendTasks([hintOfTask(), hintOfTask()]);
    const [bad, good] = await receiveAll(queue, "tasks-short");
    if (bad === undefined || good === undefined) throw new Error("two were sent");
    const worked: string[] = [];
    const handle = handlerOf(async (hint) => {
      worked.push(hint.runId);
      return "ended";
    });
    const answer = await handle(toSqsEvent([{ ...bad, body }, good]), context);
    expect(answer.batchItemFailures).toEqual([{ itemIdentifier: bad.messageId }]);
    expect(worked).toEqual([JSON.parse(good.body).runId]);
    expect(log.entries).toContainEqual(expect.objectContaining({ level: "warn", what: "message not understood" }));
  });

  test("a newer version may send more fields", async () => {
    await sendTasks([hintOfTask()]);
    const [message] = await receiveAll(queue, "tasks-short");
    if (message === undefined) throw new Error("one was sent");
    const body = JSON.stringify({ ...JSON.parse(message.body), since: 3 });
    const answer = await handlerOf(async () => "ended")(toSqsEvent([{ ...message, body }]), context);
    expect(answer.batchItemFailures).toEqual([]);
  });

  test("tasks-solo: one after the other, told so, runs and tasks alike", async () => {
    const order: string[] = [];
    const note =
      (what: string): Task =>
      async (hint, at) => {
        order.push(`${what} ${hint.taskId} begins${at.solo ? " alone" : ""}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
        order.push(`${what} ends`);
        return "ended";
      };
    const hints = [hintOfTask("w1t1"), hintOfTask(null)];
    await queue.send(hints.map((hint) => ({ queue: "tasks-solo", hint })));
    const messages = (await receiveAll(queue, "tasks-solo")).sort((a, b) => Number(a.messageId) - Number(b.messageId));
    const answer = await handlerOf(note("task"), note("tick"))(toSqsEvent(messages), context);
    expect(answer.batchItemFailures).toEqual([]);
    expect(order).toEqual(["task w1t1 begins alone", "task ends", "tick null begins alone", "tick ends"]);
  });

  test("tells the engine how long Lambda has left, and a laptop's work that nothing presses", async () => {
    const remaining: number[] = [];
    const handle = handlerOf(async (_, at) => {
      remaining.push(at.remainingMs());
      return "handedOver";
    });
    await sendTasks([hintOfTask(), hintOfTask()]);
    const [one, other] = await receiveAll(queue, "tasks-short");
    if (one === undefined || other === undefined) throw new Error("two were sent");
    await handle(toSqsEvent([one]), { ...context, getRemainingTimeInMillis: () => 4_321 });
    await handle(toSqsEvent([other]), context);
    expect(remaining).toEqual([4_321, Number.POSITIVE_INFINITY]);
  });

  test("logs ids and outcome of each message, and never its text", async () => {
    const hint = hintOfTask();
    await sendTasks([hint]);
    await handlerOf(async () => "parked")(toSqsEvent(await receiveAll(queue, "tasks-short")), context);
    expect(log.entries).toMatchObject([{ level: "info", what: "worked", fields: { ...hint, worked: "parked" } }]);
  });

  test("what SQS calls our queue on AWS is known by the name inside", async () => {
    await sendTasks([hintOfTask()]);
    const event = toSqsEvent(await receiveAll(queue, "tasks-short"));
    const Records = event.Records.map((r) => ({
      ...r,
      eventSourceARN: "arn:aws:sqs:eu-central-1:123456789012:Toren-tasks-solo-1A2B",
    }));
    const alone: boolean[] = [];
    await handlerOf(async (_, at) => {
      alone.push(at.solo);
      return "ended";
    })({ Records }, context);
    expect(alone).toEqual([true]);
  });
});
