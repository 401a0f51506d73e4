// Two versions of the code: an update and a roll-back, each by `cdk deploy`, with runs under way.
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { SQSBatchResponse } from "aws-lambda";
import { DATABASE_USERS } from "../../../cdk/connections.ts";
import { aheadBy, putForward } from "../../../local/testing/clock.ts";
import { ALL_LIMITS, overLimit, watchConnections } from "../support/connections.ts";
import { agentsFolder, deployAgain, PLAN } from "../support/deployment.ts";
import type { ExecutionEnvironment } from "../support/environment.ts";
import { bundleOf, createOwnQueues, environmentBeside, type OwnQueues } from "../support/environments.ts";
import { eventually } from "../support/eventually.ts";
import { DEPLOY_MS, type Installation, openInstallation } from "../support/installation.ts";

let at: Installation;
let queues: OwnQueues;
const before: ExecutionEnvironment[] = [];
let yaml: string;
beforeAll(async () => {
  at = await openInstallation();
  queues = await createOwnQueues();
  yaml = await readFile(AGENT(), "utf8");
  aheadMs = await aheadBy(at.database);
}, DEPLOY_MS);
afterAll(async () => {
  for (const one of before) await one.end();
  await queues?.drop();
  await at?.close();
});

const AGENT = (): string => join(agentsFolder(), "probe/agent.yaml");

const generationOf = async (runId?: string): Promise<number> =>
  (
    await at.sql<{ n: number }>(
      runId === undefined
        ? "SELECT max(generation)::int AS n FROM toren_control.deployments WHERE agent = 'probe'"
        : "SELECT max(generation)::int AS n FROM agent_probe.streams WHERE run_id = $1",
      runId === undefined ? [] : [runId],
    )
  )[0]?.n ?? 0;

/** Longer than any deploy takes: the database's clock is put forward after it. */
const NAP_MS = 10 * 60_000;
let aheadMs: number;

/** One that sleeps meanwhile, one whose tool is at work, and a wave that is half done. */
async function startThree(): Promise<string[]> {
  await at.model(500, 1_500);
  const runs = [
    await at.start("probe", NAP_MS, "nap"),
    await at.start("probe", "Call order with seconds 30", "order"),
    await at.start("probe", 40, "wave"),
  ];
  await eventually("some answers", async () =>
    (await at.ledger()).filter((e) => e.answered).length > 5 ? true : null,
  );
  return runs;
}

/** So much time passes that the sleeper's is over, and the guardian looks, as it does every minute. */
async function wakeSleeper(): Promise<void> {
  aheadMs += NAP_MS;
  await putForward(at.database, "probe", aheadMs, NAP_MS);
  await at.guard();
}

async function allEnd(runs: readonly string[]): Promise<void> {
  const ended = await Promise.all(runs.map((runId) => at.ended(runId, 120_000)));
  expect(ended.map(({ status }) => status)).toEqual(runs.map(() => "completed"));
  await at.expectBalanced(ended);
}

test("I7: an update with runs under way: they go on with the new code, beside environments of the version before, and nobody has more connections than its limit", async () => {
  // The version before as it is at its largest: as many environments as its queues' mappings may have, each with its connections.
  const copy = join(process.env.TOREN_TEST_AWS_FOLDER ?? "", "before");
  for (const [name, n] of [
    ["task", PLAN.tasksAtOnce],
    ["tick", PLAN.ticksAtOnce],
  ] as const) {
    await cp(bundleOf(at.deployed, name), join(copy, name), { recursive: true });
    for (let i = 0; i < n; i++) {
      const one = await environmentBeside(at.deployed, name, { bundle: join(copy, name), more: queues.variables });
      expect(await one.invoke<SQSBatchResponse>({ Records: [] })).toEqual({ batchItemFailures: [] });
      before.push(one);
    }
  }
  const runs = await startThree();
  const seen = watchConnections(at);
  const first = await generationOf();
  await writeFile(AGENT(), yaml.replace("Answer in one line.", "Answer in one short line."));
  await deployAgain();
  expect(await generationOf()).toBe(first + 1);
  await wakeSleeper();
  await allEnd(runs);

  await at.model(50, 200);
  const runId = await at.start("probe", 100, "wave");
  const run = await at.ended(runId, 120_000);
  expect(run).toMatchObject({ status: "completed", output: 100 });
  expect(await generationOf(runId)).toBe(first + 1);
  await at.expectBalanced([run]);

  const counted = await seen();
  expect(overLimit(counted)).toEqual([]);
  expect(counted.mostOfAll).toBeLessThanOrEqual(ALL_LIMITS);
  expect(counted.most.get(DATABASE_USERS.task)).toBeGreaterThan(PLAN.tasksAtOnce);
}, 400_000);

test("I7: an environment of the version before leaves alone what the newer one has written", async () => {
  await at.model(3_000, 3_000);
  const runId = await at.start("probe", "How long is a lease?", "main");
  await eventually("a question", async () => ((await at.ledger()).length > 0 ? true : null));
  const events = () => at.sql("SELECT * FROM agent_probe.events WHERE run_id = $1 ORDER BY 1, 2, 3", [runId]);
  const written = await events();
  const [task] = before;
  if (task === undefined) throw new Error("no environment of the version before");
  const body = JSON.stringify({ agent: "probe", runId, taskId: "w0t0" });
  await queues.send("tasks-short", body);
  expect(await queues.deliver("tasks-short", task)).toEqual({ batchItemFailures: [] });
  expect(await events()).toEqual(written);
  const run = await at.ended(runId, 60_000);
  expect(run).toMatchObject({ status: "completed", receipt: { modelCalls: 1, unanswered: 0, repaid: 0 } });
  await at.expectBalanced([run]);
}, 90_000);

test("I7: a roll-back to the version before with runs under way: it is one more generation, and they go on with it", async () => {
  const runs = await startThree();
  const newest = await generationOf();
  await writeFile(AGENT(), yaml);
  await deployAgain();
  expect(await generationOf()).toBe(newest + 1);
  await wakeSleeper();
  await allEnd(runs);
  await at.model(5, 20);
  const runId = await at.start("probe", "How long is a lease?", "main");
  await allEnd([runId]);
  expect(await generationOf(runId)).toBe(newest + 1);
}, 300_000);
