import {
  DeleteScheduleCommand,
  GetScheduleCommand,
  type GetScheduleOutput,
  ListSchedulesCommand,
  SchedulerClient,
  UpdateScheduleCommand,
} from "@aws-sdk/client-scheduler";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { functionNamed } from "../../../local/aws/deploy.ts";
import { aheadBy, putForward } from "../../../local/testing/clock.ts";
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

async function scheduleOf(runId: string): Promise<GetScheduleOutput> {
  const GroupName = at.deployed.resources.find(({ type }) => type === "AWS::Scheduler::ScheduleGroup")?.physicalId;
  return await eventually("a schedule for the run", async () => {
    for (const { Name } of (await scheduler.send(new ListSchedulesCommand({ GroupName }))).Schedules ?? []) {
      const one = await scheduler.send(new GetScheduleCommand({ GroupName, Name }));
      if (one.Target?.Input?.includes(runId)) return one;
    }
    return null;
  });
}

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
  const schedule = await scheduleOf(runId);
  const firesAt = Date.parse(`${/^at\((.+)\)$/.exec(schedule.ScheduleExpression ?? "")?.[1]}Z`);
  expect(Math.abs(firesAt - (startedAt + napMs - TIMER_EARLY_MS))).toBeLessThan(20_000);
  expect(await at.ended(runId, 0).catch(String)).toContain("waitingTimer");

  // So much time passes that 20 s are left: the database's, and the schedule's, which then fires at once.
  const byMs = napMs - 20_000 - (Date.now() - startedAt);
  await putForward(at.database, "probe", byMs, byMs);
  const soon = new Date(Date.now() + 3_000).toISOString().slice(0, 19);
  const { GroupName, Name, Target, FlexibleTimeWindow, ActionAfterCompletion } = schedule;
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

test("a schedule that is lost, while the pulse rests: the stack's own rule calls the guardian within a minute, which finds the run and a pulse for it", async () => {
  const rule = Object.values(at.deployed.template.Resources).find(({ Type }) => Type === "AWS::Events::Rule");
  const target = { "Fn::GetAtt": [expect.stringMatching(/guardian/), "Arn"] };
  expect(rule?.Properties).toMatchObject({
    ScheduleExpression: "rate(1 minute)",
    State: "ENABLED",
    Targets: [{ Arn: target }],
  });
  // What it calls with is EventBridge's own event, as `at.guard` sends it.
  expect(JSON.stringify(rule?.Properties?.Targets)).not.toContain("Input");

  const napMs = 20 * MINUTE_MS;
  const runId = await at.start("probe", napMs, "nap");
  const { GroupName, Name } = await scheduleOf(runId);
  await scheduler.send(new DeleteScheduleCommand({ GroupName, Name }));
  const rests = async () =>
    (await at.sql<{ rests: boolean }>("SELECT next_at = '-infinity' AS rests FROM toren_control.pulse"))[0]?.rests;
  await eventually("a pulse at rest", async () => ((await rests()) === true ? true : null), 60_000);
  await putForward(at.database, "probe", (await aheadBy(at.database)) + napMs, napMs);
  const run = await at.ended(runId, 2 * MINUTE_MS);
  expect(run.status).toBe("completed");
  expect(run.output).toBeGreaterThanOrEqual(napMs);
}, 300_000);
