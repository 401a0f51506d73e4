import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { awsVariables, functionNamed } from "../../../local/aws/deploy.ts";
import { STEP_RESERVE_MS, TASK_INVOCATION_MS } from "../../../shared/core/limits.ts";
import { eventually } from "../support/eventually.ts";
import { limitTo } from "../support/functions.ts";
import { DEPLOY_MS, type Installation, openInstallation } from "../support/installation.ts";
import { workerOf } from "../support/worker.ts";

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
  await limitTo(task, RESERVE_S + 3); // the tool takes the time that a second step would need
  const runId = await at.start("probe", "Call wait with seconds 5", "wait");
  const run = await at.ended(runId, 90_000);
  expect(run).toMatchObject({ status: "completed", receipt: { modelCalls: 2, unanswered: 0, repaid: 0 } });
  expect(await handOvers(runId)).toBe(1);
  await at.expectBalanced([run]);
}, 150_000);

/** The first waits for three minutes of a function's time; the second says at once that it belongs there. */
const LONG = process.env.TOREN_TEST_AWS_FULL
  ? ([
      ["a step that is too long for Lambda", "wait", 56],
      ["a task of a role with runtime long", "long", 1],
    ] as const)
  : ([["a task of a role with runtime long", "long", 1]] as const);

test.each(LONG)(
  "%s: ECS is asked for a worker, whose own command works it off, as a plain process",
  async (_, process, seconds) => {
    await at.model(5, 20);
    await limitTo(task, RESERVE_S + 2);
    const from = at.calls().length;
    const runId = await at.start("probe", `Call wait with seconds ${seconds}`, process);
    const asked = await eventually(
      "a worker asked for",
      async () =>
        at
          .calls()
          .slice(from)
          .find(({ operation }) => operation === "RunTask" || operation === "DescribeTasks") ?? null,
      120_000,
    );
    expect(asked).toMatchObject({ service: "ecs", status: 200 });
    const folder = await mkdtemp(join(tmpdir(), "toren-worker-"));
    const worker = startWorker(folder);
    try {
      const run = await at.ended(runId, 120_000);
      expect(run).toMatchObject({ status: "completed", receipt: { modelCalls: 2, repaid: 0 } });
      await at.expectBalanced([run]);
    } finally {
      worker.kill("SIGTERM");
      await once(worker, "exit");
      await rm(folder, { recursive: true, force: true });
    }
  },
  300_000,
);

/** What ECS would run in the container, with the environment of the stack. */
function startWorker(folder: string): ChildProcess {
  const { entryPoint, command, environment } = workerOf(at.deployed);
  const child = spawn(process.execPath, [...entryPoint.slice(1), ...command], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      PATH: process.env.PATH,
      ...environment,
      ...awsVariables(process.env.AWS_ENDPOINT_URL ?? ""),
      DATABASE_URL: at.databaseUrl("long-task"),
      TOREN_BUNDLE_FOLDER: folder,
    },
  });
  return child;
}
