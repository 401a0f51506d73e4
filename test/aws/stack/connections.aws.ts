import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { DATABASE_USERS, type DatabaseUserOf } from "../../../cdk/connections.ts";
import { awsVariables, functionNamed } from "../../../local/aws/deploy.ts";
import { type FunctionName, functionOf } from "../../../local/aws/fit-template.ts";
import { environmentOf } from "../support/functions.ts";
import { DEPLOY_MS, type Installation, openInstallation, PLAN } from "../support/installation.ts";

let at: Installation;
const frozen: ChildProcess[] = [];
beforeAll(async () => {
  at = await openInstallation();
}, DEPLOY_MS);
afterAll(async () => {
  for (const child of frozen) child.kill("SIGKILL");
  await at.close();
});

/** Environments of the version before: as many as its queue's mapping may have, or a few of them. */
const FROZEN = process.env.TOREN_TEST_AWS_FULL ? PLAN.tasksAtOnce : 2;

/** Invokes the deployed bundle once, as Lambda's runtime client does, and stays. */
const RUNTIME = `const { handler } = await import(process.env.BUNDLE);
const answer = await handler(
  { Records: [] },
  { awsRequestId: "before", getRemainingTimeInMillis: () => 900_000 },
);
console.log(JSON.stringify(answer));
setInterval(() => {}, 1_000);`;

/** As it was uploaded. */
function bundleOf(name: FunctionName): string {
  const [, code] = Object.entries(at.deployed.template.Resources).find(([id]) => functionOf(id) === name) ?? [];
  const { S3Key = "" } = (code?.Properties?.Code ?? {}) as { S3Key?: string };
  return join(process.env.TOREN_TEST_AWS_FOLDER ?? "", `stack/cdk.out/asset.${S3Key.replace(/\.zip$/, "")}`);
}

async function environment(): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", RUNTIME], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      PATH: process.env.PATH,
      ...(await environmentOf(functionNamed(at.deployed, "task"))),
      ...awsVariables(process.env.AWS_ENDPOINT_URL ?? ""),
      BUNDLE: join(bundleOf("task"), "index.mjs"),
    },
  });
  if (child.stdout === null) throw new Error("no standard output");
  for await (const line of createInterface(child.stdout)) if (line.includes("batchItemFailures")) return child;
  throw new Error("an environment ended before it had answered");
}

test("environments of the version before, frozen with their connections, and a wave of 100: nobody has more than its limit, and the run ends", async () => {
  await at.model(50, 200);
  for (let n = 0; n < FROZEN; n++) frozen.push(await environment());
  for (const child of frozen) child.kill("SIGSTOP");
  const runId = await at.start("probe", 100, "wave");
  const ended = at.ended(runId, 120_000);
  const most = new Map<string, number>();
  let working = true;
  void ended.finally(() => {
    working = false;
  });
  while (working) {
    const rows = await at.sql<{ name: string; n: number }>(
      "SELECT usename AS name, count(*)::int AS n FROM pg_stat_activity WHERE usename LIKE 'toren\\_%' GROUP BY 1",
    );
    for (const { name, n } of rows) most.set(name, Math.max(n, most.get(name) ?? 0));
    most.set(
      "all",
      Math.max(
        rows.reduce((sum, { n }) => sum + n, 0),
        most.get("all") ?? 0,
      ),
    );
    await sleep(50);
  }
  expect(await ended).toMatchObject({ status: "completed", output: 100 });
  await at.expectBalanced([await ended]);
  const all = Object.values(PLAN.limits).reduce((sum, limit) => sum + limit, 0);
  expect(most.get(DATABASE_USERS.task)).toBeGreaterThan(FROZEN);
  for (const [user, name] of Object.entries(DATABASE_USERS))
    if ((most.get(name) ?? 0) > PLAN.limits[user as DatabaseUserOf])
      throw new Error(`${name} had ${most.get(name)} connections`);
  expect(most.get("all")).toBeLessThanOrEqual(all);
}, 300_000);
