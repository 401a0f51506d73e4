import { randomUUID } from "node:crypto";
import {
  CreateScheduleGroupCommand,
  GetScheduleCommand,
  ListSchedulesCommand,
  SchedulerClient,
} from "@aws-sdk/client-scheduler";
import { SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { createSqsQueue } from "../../../shared/adapters/queue/sqs.ts";
import { createSchedulerTimers } from "../../../shared/adapters/timers/scheduler.ts";
import { QUEUE_DELAY_MAX_MS, TIMER_EARLY_MS } from "../../../shared/core/limits.ts";
import type { Queue } from "../../../shared/ports/queue.ts";
import type { Timers } from "../../../shared/ports/timers.ts";
import { timersConformance } from "../../conformance/timers.ts";
import { recordingLog } from "../../support/log.ts";
import { arnOf, createQueues, type TestQueues } from "../support/sqs.ts";

const scheduler = new SchedulerClient({});
const group = `toren-${randomUUID().slice(0, 8)}`;
const log = recordingLog();
let queues: TestQueues;
let queue: Queue;
let timers: Timers;
beforeAll(async () => {
  queues = await createQueues();
  queue = createSqsQueue(queues);
  await scheduler.send(new CreateScheduleGroupCommand({ Name: group }));
  timers = createSchedulerTimers({ queue, log, schedules: await target() });
});
beforeEach(() => {
  log.entries.length = 0;
});
afterAll(() => queues.drop());
const target = async (more: { group?: string } = {}) => ({
  group,
  roleArn: "arn:aws:iam::000000000000:role/toren-timers",
  queueArn: await arnOf(new SQSClient({}), queues.urls.ticks),
  ...more,
});
const names = async () =>
  ((await scheduler.send(new ListSchedulesCommand({ GroupName: group }))).Schedules ?? []).map((s) => s.Name);

timersConformance("timers on AWS", () => ({ timers, queue, empty: () => queues.empty() }));

describe("a time beyond what SQS can delay", () => {
  const hint = { agent: "crew", runId: randomUUID(), taskId: "w1t2" };
  const now = 7_000_000; // the store's clock needn't be this worker's
  const dueAt = now + QUEUE_DELAY_MAX_MS + 60 * 60_000;

  test("is one schedule that fires early, says when it is due, and goes away by itself", async () => {
    await timers.set({ queue: "tasks-short", hint }, dueAt, now);
    await timers.set({ queue: "tasks-short", hint }, dueAt, now); // the same stream, the same time
    const made = await names();
    expect(made).toHaveLength(1);
    const schedule = await scheduler.send(new GetScheduleCommand({ GroupName: group, Name: made[0] }));
    const [, at = ""] = /^at\((.+)\)$/.exec(schedule.ScheduleExpression ?? "") ?? [];
    const firesIn = Date.parse(`${at}Z`) - Date.now();
    expect(Math.abs(firesIn - (dueAt - now - TIMER_EARLY_MS))).toBeLessThan(10_000);
    expect(JSON.parse(schedule.Target?.Input ?? "")).toEqual({ ...hint, dueAt });
    expect(schedule).toMatchObject({ ActionAfterCompletion: "DELETE", FlexibleTimeWindow: { Mode: "OFF" } });
    expect(log.entries).toEqual([]);
  });

  test("another time, or another stream, is another schedule", async () => {
    const before = (await names()).length;
    await timers.set({ queue: "tasks-short", hint }, dueAt + 1, now);
    await timers.set({ queue: "ticks", hint: { ...hint, taskId: null } }, dueAt, now);
    expect(await names()).toHaveLength(before + 2);
  });

  test("that can't be scheduled is left to the guardian, with a word in the log", async () => {
    const nowhere = createSchedulerTimers({ queue, log, schedules: await target({ group: "no-such-group" }) });
    await nowhere.set({ queue: "ticks", hint }, dueAt, now);
    expect(log.entries).toMatchObject([{ level: "warn", what: "timer left to the guardian" }]);
  });

  test("without a Scheduler it is left to the guardian in silence", async () => {
    await createSchedulerTimers({ queue, log, schedules: null }).set({ queue: "ticks", hint }, dueAt, now);
    expect(log.entries).toEqual([]);
  });
});
