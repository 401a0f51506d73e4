import { readFileSync } from "node:fs";
import { PurgeQueueCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { eventually } from "../support/eventually.ts";
import { DEPLOY_MS, type Installation, openInstallation } from "../support/installation.ts";

let at: Installation;
beforeAll(async () => {
  at = await openInstallation();
}, DEPLOY_MS);
afterAll(() => at?.close());

/** A run whose one question is at the model. */
async function asking(latencyMs: number): Promise<string> {
  await at.model(latencyMs, latencyMs);
  const runId = await at.start("probe", "How long is a lease?");
  await eventually("a question", async () => ((await at.ledger()).length > 0 ? true : null));
  return runId;
}

const killTasks = (): void => {
  for (const pid of at.pids("task")) process.kill(pid, "SIGKILL");
};

test("a task function killed in the middle of a call: another takes over, the call is sent again, nothing else is", async () => {
  const runId = await asking(4_000);
  killTasks();
  const run = await at.ended(runId, 90_000);
  expect(run).toMatchObject({ status: "completed", receipt: { modelCalls: 1, unanswered: 1, repaid: 0 } });
  expect(await at.ledger()).toHaveLength(2);
  await at.expectBalanced([run]);
}, 120_000);

test("the pulse is lost and a lease with it: the minute's schedule brings both back", async () => {
  const runId = await asking(4_000);
  killTasks();
  await new SQSClient({}).send(new PurgeQueueCommand({ QueueUrl: at.queueUrl("pulse") }));
  // The emulator has no hurry with the rule of the stack; this is its event.
  const guarding = setInterval(() => void at.guard().catch(() => {}), 10_000);
  const run = await at.ended(runId, 90_000).finally(() => clearInterval(guarding));
  expect(run).toMatchObject({ status: "completed", receipt: { modelCalls: 1, unanswered: 1, repaid: 0 } });
  await at.expectBalanced([run]);
}, 120_000);

test("the database server is killed in the middle of a wave: nothing acknowledged is lost, and the run ends", async () => {
  await at.model(300, 600);
  const runId = await at.start("probe", 40, "wave");
  await eventually("some answers", async () =>
    (await at.ledger()).filter((e) => e.answered).length > 5 ? true : null,
  );
  const answered = () =>
    at.sql<{ id: string }>(
      "SELECT concat(stream_id, ' ', payload) AS id FROM agent_probe.events WHERE run_id = $1 AND type = 'LlmCallCompleted'",
      [runId],
    );
  const before = await answered();
  const [{ data_directory: folder } = { data_directory: "" }] = await at.sql<{ data_directory: string }>(
    "SHOW data_directory",
  );
  process.kill(Number(readFileSync(`${folder}/postmaster.pid`, "utf8").split("\n")[0]), "SIGKILL");
  const run = await at.ended(runId, 120_000);
  expect(run).toMatchObject({ status: "completed", output: 40 });
  const after = new Set((await answered()).map(({ id }) => id));
  expect(before.filter(({ id }) => !after.has(id))).toEqual([]);
  await at.expectBalanced([run]);
}, 150_000);
