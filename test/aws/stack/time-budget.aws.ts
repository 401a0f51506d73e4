import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { functionNamed } from "../../../local/aws/deploy.ts";
import { STEP_RESERVE_MS, TASK_INVOCATION_MS } from "../../../shared/core/limits.ts";
import { limitTo } from "../support/functions.ts";
import { DEPLOY_MS, type Installation, openInstallation } from "../support/installation.ts";
import { startWorker, workerAskedFor } from "../support/worker.ts";

let at: Installation;
let task: string;
beforeAll(async () => {
  at = await openInstallation();
  await at.model(5, 20);
  task = functionNamed(at.deployed, "task");
}, DEPLOY_MS);
afterAll(async () => {
  await limitTo(task, TASK_INVOCATION_MS / 1_000);
  await at.close();
});

const SECOND_MS = 1_000;
const RESERVE_S = STEP_RESERVE_MS / SECOND_MS;
const handOvers = async (runId: string): Promise<number> =>
  Number(
    (
      await at.sql<{ n: string }>(
        "SELECT count(*) AS n FROM agent_probe.events WHERE run_id = $1 AND type = 'TaskStarted'",
        [runId],
      )
    )[0]?.n,
  ) - 1;

test("with too little time left a task hands over between its steps, and ends right", async () => {
  await limitTo(task, RESERVE_S + 10); // the tool takes the time that a second step would need; what comes after has room on a slow machine, too
  const runId = await at.start("probe", "Call wait with seconds 12", "wait");
  const run = await at.ended(runId, 90_000);
  expect(run).toMatchObject({ status: "completed", receipt: { modelCalls: 2, unanswered: 0, repaid: 0 } });
  expect([1, 2]).toContain(await handOvers(runId)); // the second where an environment took long to come up
  await at.expectBalanced([run]);
}, 150_000);

test("a task of a role with runtime long: ECS is asked for a worker, whose own command works it off, as a plain process", async () => {
  await at.model(5, 20);
  const from = at.calls().length;
  const runId = await at.start("probe", "Call wait with seconds 1", "long");
  expect(await workerAskedFor(at, from)).toMatchObject({ service: "ecs", status: 200 });
  const worker = await startWorker(at);
  try {
    const run = await at.ended(runId, 120_000);
    expect(run).toMatchObject({ status: "completed", receipt: { modelCalls: 2, repaid: 0 } });
    await at.expectBalanced([run]);
  } finally {
    await worker.stop();
  }
}, 300_000);
