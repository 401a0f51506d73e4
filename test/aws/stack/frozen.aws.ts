import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { SQSBatchResponse } from "aws-lambda";
import { functionNamed } from "../../../local/aws/deploy.ts";
import {
  CONNECTION_IDLE_MS,
  CUT_OFF_MS,
  IDLE_SESSION_TIMEOUT_MS,
  STEP_RESERVE_MS,
  TASK_INVOCATION_MS,
} from "../../../shared/core/limits.ts";
import type { RunJson } from "../../../shared/http/run-json.ts";
import type { ExecutionEnvironment } from "../support/environment.ts";
import { createOwnQueues, environmentBeside, type OwnQueues } from "../support/environments.ts";
import { eventually } from "../support/eventually.ts";
import { limitTo } from "../support/functions.ts";
import { DEPLOY_MS, type Installation, openInstallation } from "../support/installation.ts";
import { proxyEvent } from "../support/proxy-event.ts";
import { startWorker, workerAskedFor } from "../support/worker.ts";

/** Longer than the server keeps idle sessions, and than a pool keeps idle connections. */
const FROZEN_MS = 90_000;
if (FROZEN_MS <= IDLE_SESSION_TIMEOUT_MS + CONNECTION_IDLE_MS / 2) throw new Error("it must outlast both");

/** An invocation's time before its step begins. */
const STARTS_S = 12;

let at: Installation;
let queues: OwnQueues;
let own: Record<"api" | "tick" | "task" | "guardian" | "zombie", ExecutionEnvironment>;
/** What the frozen worker was asked in the middle of its call. */
let interrupted: { readonly runId: string; readonly answer: Promise<SQSBatchResponse | null> };
let frozenAt: number;

beforeAll(async () => {
  at = await openInstallation();
  queues = await createOwnQueues();
  const { variables } = queues;
  const [api, tick, task, guardian, zombie] = await Promise.all(
    (["api", "tick", "task", "guardian", "task"] as const).map((name) =>
      environmentBeside(at.deployed, name, { more: variables }),
    ),
  );
  own = { api, tick, task, guardian, zombie } as typeof own;
}, DEPLOY_MS);
afterAll(async () => {
  for (const one of Object.values(own ?? {})) await one.end();
  await queues?.drop();
  await limitTo(functionNamed(at.deployed, "task"), TASK_INVOCATION_MS / 1_000);
  await at?.close();
});

/** Through the environment of the API, so that its hints reach these environments alone. */
async function start(process: string, input: unknown): Promise<string> {
  const headers = { authorization: `Bearer ${at.key}` };
  const event = proxyEvent({ method: "POST", path: "/runs", headers, body: { agent: "probe", process, input } });
  const { statusCode, body } = await own.api.invoke<{ statusCode: number; body: string }>(event);
  expect([statusCode, body]).toEqual([201, body]);
  return (JSON.parse(body) as { runId: string }).runId;
}

/** What comes for a run, until it has ended; how many batches of both kinds there were. */
async function work(runId: string): Promise<{ run: RunJson; ticks: number; tasks: number }> {
  const done = { ticks: 0, tasks: 0 };
  for (const deadline = Date.now() + 60_000; ; ) {
    const ticked = await queues.deliver("ticks", own.tick);
    const asked = await queues.deliver("tasks-short", own.task);
    for (const answer of [ticked, asked]) expect(answer?.batchItemFailures ?? []).toEqual([]);
    if (ticked !== null) done.ticks++;
    if (asked !== null) done.tasks++;
    if (ticked === null && asked === null)
      try {
        return { run: await at.ended(runId, 0), ...done };
      } catch (e) {
        if (Date.now() > deadline) throw e;
      }
  }
}

/** A run whose one question the zombie has asked. On a busy machine somebody who was nudged may have been faster: then another run. */
async function inMidCall(): Promise<typeof interrupted> {
  for (let tries = 1; tries <= 5; tries++) {
    await at.model(5_000, 5_000);
    const runId = await start("main", "How long is a lease?");
    for (let polls = 1; polls <= 20; polls++) {
      await queues.deliver("ticks", own.tick);
      const answer = queues.deliver("tasks-short", own.zombie);
      answer.catch(() => {});
      const first = await Promise.race([answer, sleep(1_500, "at work" as const)]);
      if (first === "at work") {
        await eventually("a question", async () => ((await at.ledger()).length > 0 ? true : null));
        return { runId, answer };
      }
      // No message was there yet, or another run's. Who has asked meanwhile is somebody else.
      if ((await at.ledger()).length > 0) break;
    }
    await at.ended(runId, 60_000);
  }
  throw new Error("others were always faster");
}

test("a worker that is frozen in the middle of a call, with all others of its kind: somebody else takes over", async () => {
  await at.model(5, 20);
  const first = await start("wave", 12);
  expect(await work(first)).toMatchObject({ run: { status: "completed", output: 12 } });
  await own.guardian.invoke({ source: "schedule" });

  interrupted = await inMidCall();
  for (const one of Object.values(own)) one.freeze();
  frozenAt = Date.now();
  const run = await at.ended(interrupted.runId, 90_000);
  expect(run).toMatchObject({ status: "completed", receipt: { modelCalls: 1, unanswered: 1, repaid: 0 } });
  await at.expectBalanced([run]);
}, 150_000);

test("a step that is too long for Lambda: ECS is asked for a worker, whose own command works it off, as a plain process", async () => {
  await at.model(5, 20);
  // A step is begun while the reserve is left. What comes before it (a cold start's composition among it) may take STARTS_S: with less, a busy machine
  // hands over between steps, again and again, and never comes to be cut off in one.
  const limitS = STEP_RESERVE_MS / 1_000 + STARTS_S;
  await limitTo(functionNamed(at.deployed, "task"), limitS);
  const from = at.calls().length;
  // Longer than from any such beginning to the cut.
  const runId = await at.start("probe", `Call order with seconds ${limitS - CUT_OFF_MS / 1_000 + 2}`, "order");
  expect(await workerAskedFor(at, from)).toMatchObject({ service: "ecs", status: 200 });
  const worker = await startWorker(at);
  try {
    const run = await at.ended(runId, 120_000);
    expect(run).toMatchObject({ status: "completed", receipt: { modelCalls: 2, unanswered: 0, repaid: 0 } });
    await at.expectBalanced([run]);
  } finally {
    await worker.stop();
  }
}, 300_000);

test(
  "I12: environments that were frozen for 90 s, their connections cut meanwhile, go on with new ones at their thaw; the one in mid-call has changed nothing",
  async () => {
    await at.model(5, 20);
    const events = () =>
      at.sql("SELECT * FROM agent_probe.events WHERE run_id = $1 ORDER BY 1, 2, 3", [interrupted.runId]);
    const before = await events();
    await sleep(Math.max(0, frozenAt + FROZEN_MS - Date.now()));
    await at.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename LIKE 'toren\\_%'");
    for (const one of Object.values(own)) one.thaw();

    // The lost answer, and the lease that is somebody else's by now, are no failure of the message.
    expect(await interrupted.answer).toEqual({ batchItemFailures: [] });
    expect(await events()).toEqual(before);

    const runId = await start("wave", 12);
    const worked = await work(runId);
    expect(worked).toMatchObject({ run: { status: "completed", output: 12 } });
    await own.guardian.invoke({ source: "schedule" });
    const { task } = own;
    own.task = own.zombie;
    const again = await start("wave", 3);
    const alike = await work(again);
    own.task = task;
    await at.expectBalanced([worked.run, alike.run]);
    // By these environments, not by others that were nudged meanwhile.
    for (const { ticks, tasks } of [worked, alike]) expect(Math.min(ticks, tasks)).toBeGreaterThan(0);
    expect(
      await at.sql("SELECT FROM toren_control.dead_letters WHERE body::text LIKE ANY($1)", [
        [runId, again].map((id) => `%${id}%`),
      ]),
    ).toEqual([]);
  },
  FROZEN_MS + 150_000,
);
