import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { SQSEvent } from "aws-lambda";
import { createDeadLetterHandler } from "../../functions/dead-letter.ts";
import type { SqsHandler } from "../../functions/sqs-batch.ts";
import { createTaskHandler } from "../../functions/task.ts";
import { type Pump, type PumpDeps, startPump } from "../../local/pump.ts";
import { createDeadLetters } from "../../shared/adapters/queue/dead-letters.ts";
import { createPostgresQueue, type PostgresQueue } from "../../shared/adapters/queue/postgres.ts";
import { TorenError } from "../../shared/core/errors.ts";
import { RECEIVES_MAX } from "../../shared/core/limits.ts";
import type { Queue } from "../../shared/ports/queue.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { recordingLog } from "../support/log.ts";
import { engineOver, hintOfTask, until } from "../support/sqs.ts";

let db: TestDatabase;
let queue: PostgresQueue;
const log = recordingLog();
const pumps: Pump[] = [];
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
afterEach(async () => {
  for (const pump of pumps.splice(0)) await pump.stop(1_000);
});

const nothing: SqsHandler = async () => ({ batchItemFailures: [] });
const start = (handlers: Partial<PumpDeps["handlers"]>, more: Partial<PumpDeps> = {}): Pump => {
  const pump = startPump({
    queue,
    log,
    handlers: { tick: nothing, task: nothing, deadLetter: nothing, ...handlers },
    ...more,
  });
  pumps.push(pump);
  return pump;
};
const sendTasks = (count: number) =>
  queue.send(Array.from({ length: count }, () => ({ queue: "tasks-short", hint: hintOfTask() }) as const));
const left = async (): Promise<number> =>
  (await db.database.pool.query("SELECT count(*)::int AS n FROM toren_control.queue_messages")).rows[0].n;
const bodyOf = (event: SQSEvent): string => event.Records[0]?.body ?? "";

/** A handler that holds its messages until it is told to let go of them. */
function holding(): { handler: SqsHandler; held: string[]; most: () => number; letGo: () => void } {
  const held: string[] = [];
  const waiting: (() => void)[] = [];
  let open = false;
  let most = 0;
  const handler: SqsHandler = async (event) => {
    held.push(bodyOf(event));
    most = Math.max(most, held.length);
    if (!open) await new Promise<void>((resolve) => waiting.push(resolve));
    held.splice(held.indexOf(bodyOf(event)), 1);
    return { batchItemFailures: [] };
  };
  const letGo = (): void => {
    open = true;
    for (const go of waiting.splice(0)) go();
  };
  return { handler, held, most: () => most, letGo };
}

describe("the pump", () => {
  test("hands each message to the handler of its queue, soon, and deletes it", async () => {
    const seen: string[] = [];
    const note =
      (what: string): SqsHandler =>
      async (event) => {
        expect(event.Records).toHaveLength(1);
        seen.push(`${what} ${event.Records[0]?.eventSourceARN.split(":").at(-1)}`);
        return { batchItemFailures: [] };
      };
    start({ tick: note("tick"), task: note("task") });
    await sleep(100);
    const sent = performance.now();
    await queue.send([
      { queue: "ticks", hint: hintOfTask(null) },
      { queue: "tasks-short", hint: hintOfTask() },
      { queue: "tasks-long", hint: hintOfTask() },
      { queue: "tasks-solo", hint: hintOfTask() },
    ]);
    await until(() => seen.length === 4);
    expect(performance.now() - sent).toBeLessThan(500); // it was woken: it didn't wait for its next look
    expect(seen.sort()).toEqual(["task tasks-long", "task tasks-short", "task tasks-solo", "tick ticks"]);
    await until(async () => (await left()) === 0);
  });

  test("is woken by what another worker sends", async () => {
    const other = createPostgresQueue({ database: db.database, log });
    const { handler, held, letGo } = holding();
    start({ task: handler });
    await sleep(300);
    const sent = performance.now();
    await other.send([{ queue: "tasks-short", hint: hintOfTask() }]);
    await until(() => held.length === 1);
    expect(performance.now() - sent).toBeLessThan(500);
    letGo();
    await other.close();
  });

  test("finds what nobody told it of, in every queue", async () => {
    const seen: string[] = [];
    const note: SqsHandler = async (event) => {
      seen.push(event.Records[0]?.eventSourceARN.split(":").at(-1) ?? "");
      return { batchItemFailures: [] };
    };
    start({ tick: note, task: note }, { queue: { ...queue, onArrival: () => () => {} } });
    await sleep(100);
    await queue.send([{ queue: "tasks-long", hint: hintOfTask() }]); // which shares its slots with a queue that is asked first
    await until(() => seen.length === 1);
    seen.length = 0;
    const all = ["ticks", "tasks-short", "tasks-long", "tasks-solo"] as const;
    await queue.send(all.map((name) => ({ queue: name, hint: hintOfTask() })));
    await until(() => seen.length === 4);
    expect(seen.sort()).toEqual([...all].sort());
  });

  test("works on ten tasks and four ticks at once, no more, and takes the next as one ends", async () => {
    const task = holding();
    const tick = holding();
    start({ task: task.handler, tick: tick.handler });
    await sendTasks(25);
    await queue.send(Array.from({ length: 9 }, () => ({ queue: "ticks", hint: hintOfTask(null) }) as const));
    await until(() => task.held.length === 10 && tick.held.length === 4);
    await sleep(1_200); // over a regular look
    expect([task.held.length, tick.held.length]).toEqual([10, 4]);
    task.letGo();
    tick.letGo();
    await until(async () => (await left()) === 0);
    expect([task.most(), tick.most()]).toEqual([10, 4]);
  });

  test("keeps a message hidden for as long as it is worked on", async () => {
    const { handler, held, letGo } = holding();
    start({ task: handler }, { visibilityMs: 600 });
    await sendTasks(1);
    await until(() => held.length === 1);
    await sleep(1_500);
    expect(held).toHaveLength(1);
    letGo();
    await until(async () => (await left()) === 0);
  });

  test("a message of tasks-solo has the worker to itself", async () => {
    const events: string[] = [];
    const { handler, held, letGo } = holding();
    const task: SqsHandler = async (event, context) => {
      if (event.Records[0]?.eventSourceARN.endsWith("tasks-solo") !== true) return handler(event, context);
      events.push(`alone beside ${held.length}`);
      await sendTasks(2);
      await sleep(200);
      events.push(`alone beside ${held.length}`);
      return { batchItemFailures: [] };
    };
    start({ task });
    await sendTasks(2);
    await until(() => held.length === 2);
    await queue.send([{ queue: "tasks-solo", hint: hintOfTask() }]);
    await sleep(200);
    await sendTasks(3); // not begun: the solo message waits for the worker
    await sleep(300);
    expect(events).toEqual([]);
    expect(held).toHaveLength(2);
    letGo();
    await until(async () => (await left()) === 0);
    expect(events).toEqual(["alone beside 0", "alone beside 0"]);
  });

  test("what its handler failed comes again, and in the end is recorded as a dead letter", async () => {
    let tries = 0;
    const stop = new AbortController().signal;
    const task = createTaskHandler(
      { engine: engineOver(hasty(queue), log), stop },
      {
        runTick: async () => "ended",
        runTask: async () => {
          tries++;
          throw new TorenError("bug", "poison");
        },
      },
    );
    const deadLetters = createDeadLetters(db.database);
    start({ task, deadLetter: createDeadLetterHandler({ deadLetters, log }) });
    const hint = hintOfTask();
    await queue.send([{ queue: "tasks-short", hint }]);
    await until(async () => (await left()) === 0, 15_000);
    expect(tries).toBe(RECEIVES_MAX);
    const { rows } = await db.database.pool.query("SELECT body, queue FROM toren_control.dead_letters");
    expect(rows).toEqual([{ body: hint, queue: "tasks-short" }]);
  }, 30_000);

  test("a handler that throws as a whole loses nothing", async () => {
    let tries = 0;
    const task: SqsHandler = async () => {
      if (++tries === 1) throw new Error("out of memory");
      return { batchItemFailures: [] };
    };
    start({ task });
    await sendTasks(1);
    await until(async () => (await left()) === 0);
    expect(tries).toBe(2);
  });

  test("stopping takes nothing more, waits for what runs, and gives back what hadn't begun", async () => {
    const { handler, held, letGo } = holding();
    const pump = start({ task: handler });
    await sendTasks(12);
    await until(() => held.length === 10);
    const stopping = pump.stop(5_000);
    await sleep(100);
    letGo();
    expect(await stopping).toBe(0);
    expect(await left()).toBe(2);
    expect(await queue.receive("tasks-short", 10, 1_000)).toHaveLength(2);
  });

  test("stopping doesn't wait for ever, and says what it left", async () => {
    const { handler, held, letGo } = holding();
    const pump = start({ task: handler });
    await sendTasks(1);
    await until(() => held.length === 1);
    expect(await pump.stop(200)).toBe(1);
    letGo();
  });

  test("a database that goes away and comes back is waited for, told of once, and work goes on", async () => {
    const { handler, held, letGo } = holding();
    letGo();
    let away = false;
    let asked = 0;
    const flaky: Queue = {
      ...queue,
      receive: async (...args) => {
        if (!away) return queue.receive(...args);
        asked++;
        throw new TorenError("database.unavailable", "away");
      },
    };
    const seen: string[] = [];
    const task: SqsHandler = async (event, context) => {
      seen.push(bodyOf(event));
      return await handler(event, context);
    };
    start({ task }, { queue: flaky });
    await sleep(100);
    away = true;
    await sleep(3_000);
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThan(15); // no storm
    away = false;
    await sendTasks(1);
    await until(() => seen.length === 1);
    expect(held).toEqual([]);
    expect(log.entries.map((e) => e.what)).toEqual(["the queue doesn't answer", "the queue answers again"]);
  });

  test("idle, it asks little", async () => {
    let asked = 0;
    const counting: Queue = {
      ...queue,
      receive: (...args) => {
        asked++;
        return queue.receive(...args);
      },
    };
    start({}, { queue: counting });
    await sleep(500);
    asked = 0;
    await sleep(2_000);
    expect(asked).toBeLessThanOrEqual(12);
  });
});

/** The same queue without the waits of failed messages. */
const hasty = (q: Queue): Queue => ({ ...q, release: (name, receipt) => q.release(name, receipt, 0) });
