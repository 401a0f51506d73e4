import {
  GetScheduleCommand,
  ListSchedulesCommand,
  SchedulerClient,
  UpdateScheduleCommand,
} from "@aws-sdk/client-scheduler";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { functionNamed } from "../../../local/aws/deploy.ts";
import { putForward } from "../../../local/testing/clock.ts";
import { TIMER_EARLY_MS } from "../../../shared/core/limits.ts";
import { eventually } from "../support/eventually.ts";
import { DEPLOY_MS, type Installation, openInstallation } from "../support/installation.ts";

let at: Installation;
beforeAll(async () => {
  at = await openInstallation();
}, DEPLOY_MS);
afterAll(() => at?.close());

const MINUTE_MS = 60_000;
const scheduler = new SchedulerClient({});

test("a run that sleeps for 3 s is woken by SQS", async () => {
  const run = await at.ended(await at.start("probe", 3_000, "nap"), 60_000);
  expect(run.status).toBe("completed");
  expect(run.output).toBeGreaterThanOrEqual(3_000);
  expect(run.output).toBeLessThan(20_000);
});

test("a run that sleeps for 20 minutes has a schedule, which comes early; SQS delays the rest", async () => {
  const napMs = 20 * MINUTE_MS;
  const startedAt = Date.now();
  const runId = await at.start("probe", napMs, "nap");
  const GroupName = at.deployed.resources.find(({ type }) => type === "AWS::Scheduler::ScheduleGroup")?.physicalId;
  const schedule = await eventually("a schedule for the run", async () => {
    for (const { Name } of (await scheduler.send(new ListSchedulesCommand({ GroupName }))).Schedules ?? []) {
      const one = await scheduler.send(new GetScheduleCommand({ GroupName, Name }));
      if (one.Target?.Input?.includes(runId)) return one;
    }
    return null;
  });
  const firesAt = Date.parse(`${/^at\((.+)\)$/.exec(schedule.ScheduleExpression ?? "")?.[1]}Z`);
  expect(Math.abs(firesAt - (startedAt + napMs - TIMER_EARLY_MS))).toBeLessThan(20_000);
  expect(await at.ended(runId, 0).catch(String)).toContain("waitingTimer");

  // So much time passes that 20 s are left: the database's, and the schedule's, which then fires at once.
  const byMs = napMs - 20_000 - (Date.now() - startedAt);
  await putForward(at.database, "probe", byMs, byMs);
  const soon = new Date(Date.now() + 3_000).toISOString().slice(0, 19);
  const { Name, Target, FlexibleTimeWindow, ActionAfterCompletion } = schedule;
  const fired = at.calls().length;
  await scheduler.send(
    new UpdateScheduleCommand({
      GroupName,
      Name,
      Target,
      FlexibleTimeWindow,
      ActionAfterCompletion,
      State: "ENABLED",
      ScheduleExpression: `at(${soon})`,
    }),
  );
  const run = await at.ended(runId, 60_000);
  expect(run.status).toBe("completed");
  expect(run.output).toBeGreaterThanOrEqual(napMs);
  const hints = at
    .calls()
    .slice(fired)
    .filter(
      ({ operation, parameters }) => operation === "SendMessageBatch" && JSON.stringify(parameters).includes(runId),
    );
  // The reader of ticks sent it on, to come when it is due.
  const sentOn = hints.find((call) => call.function === functionNamed(at.deployed, "tick"));
  expect(sentOn?.parameters).toMatchObject({ Entries: [{ DelaySeconds: expect.any(Number) }] });
  expect(
    Math.max(...((sentOn?.parameters.Entries ?? []) as { DelaySeconds: number }[]).map((e) => e.DelaySeconds)),
  ).toBeGreaterThan(0);
}, 120_000);
