// Signals on the real engine: a wait that holds nothing, a signal that nobody waits for yet, time-outs by the database's clock.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import type { Json } from "../../shared/core/json.ts";
import { INBOX_FACTS_MAX, PAYLOAD_MAX_BYTES } from "../../shared/core/limits.ts";
import type { WorkflowFn } from "../../shared/core/workflow/context.ts";
import { readRun } from "../../shared/engine/read-run.ts";
import { retryRun } from "../../shared/engine/retry-run.ts";
import { sendSignal } from "../../shared/engine/speak-to-task.ts";
import { role, workflow } from "../support/agents.ts";
import type { Stack } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

const waiting = (run: WorkflowFn<Json>, generation = 1) => {
  const model = createScriptedModel((r) => `re ${JSON.stringify(r.messages[0]?.content)}`);
  return { model, stack: t.stack([role("r")], workflow(run), { model, generation }) };
};
const send = (stack: Stack, runId: string, signal: string, value: Json, idempotencyKey?: string) =>
  sendSignal(stack.deps, {
    agent: AGENT,
    runId,
    signal,
    value,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  });
const started = async (stack: Stack) => {
  const runId = await stack.start(AGENT, "x");
  return { runId, row: await stack.drive({ agent: AGENT, runId }) };
};

describe("a workflow that waits for a signal", () => {
  test("I10: is parked and holds nothing; the signal brings it on, in one append", async () => {
    const { stack } = waiting(async (ctx) => ({ got: await ctx.waitFor("paid") }));
    const { runId, row } = await started(stack);
    expect(row?.status).toBe("waitingSignal");
    const [own] = await stack.deps.store.runs.streams(AGENT, runId);
    expect(own).toMatchObject({ status: "parked", wait: "signal", wakeAt: null });
    const view = await readRun(stack.deps, { agent: AGENT, runId });
    expect(view).toMatchObject({
      signals: [{ signal: "paid", dueAt: null }],
      reason: expect.stringContaining("toren jobs signal"),
    });
    const before = stack.appended.length;
    expect(await send(stack, runId, "paid", { cents: 5 })).toEqual({ type: "told" });
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({
      status: "completed",
      output: { got: { cents: 5 } },
    });
    expect(stack.appended.slice(before)).toEqual(["run: SignalReceived RunCompleted end"]);
    expect(await readRun(stack.deps, { agent: AGENT, runId })).toMatchObject({ signals: [], reason: null });
  });

  test("what came before is kept, and what came twice under one key is one", async () => {
    const { stack } = waiting(async (ctx) => {
      const go = await ctx.waitFor("go");
      return [go, await ctx.waitFor("early"), await ctx.waitFor("early", { timeoutMs: 0 })];
    });
    const { runId } = await started(stack);
    for (let i = 0; i < 2; i++) expect(await send(stack, runId, "early", 0, "once")).toEqual({ type: "told" });
    expect(await send(stack, runId, "early", 1, "once")).toMatchObject({ error: { code: "idempotency.conflict" } });
    expect((await stack.drive({ agent: AGENT, runId }))?.status).toBe("waitingSignal");
    await send(stack, runId, "go", null);
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ output: [null, 0, null] });
    expect(await send(stack, runId, "early", 0, "once")).toEqual({ type: "told" }); // heard while it lived
    expect(await send(stack, runId, "early", 0, "new")).toMatchObject({ error: { code: "run.ended" } });
  });

  test("a value of many kilobytes arrives whole", async () => {
    const { stack } = waiting(async (ctx) => {
      const got = await ctx.waitFor<string>("big");
      return [got?.length ?? 0, got?.endsWith("é\u0000") ?? false];
    });
    const { runId } = await started(stack);
    await send(stack, runId, "big", `${"x".repeat(600_000)}é\u0000`);
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ output: [600_002, true] });
    const [stored] = await t.sql<{ bytes: number }>(
      `SELECT length(payload::text) AS bytes FROM agent_${AGENT}.events WHERE type = 'SignalReceived'`,
    );
    expect(stored?.bytes).toBeLessThan(500); // beside the log, as every large value
  });

  test("I8: is over when its time has passed, and then nothing is left of it", async () => {
    const { stack } = waiting(async (ctx) => [await ctx.waitFor("never", { timeoutMs: 60 }), await ctx.waitFor("go")]);
    const { runId, row } = await started(stack);
    expect(row?.status).toBe("waitingSignal");
    expect(await t.events(runId, "run")).toEqual(["RunCreated", "SignalAwaited", "TimerFired", "SignalAwaited"]);
    await send(stack, runId, "go", 1);
    await send(stack, runId, "never", 2);
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ output: [null, 1] });
  });

  test("a time that passes after the signal came says nothing", async () => {
    const { stack } = waiting(async (ctx) => {
      const got = await ctx.waitFor("go", { timeoutMs: 100 });
      await ctx.sleep(150);
      return [got, await ctx.waitFor("go", { timeoutMs: 1 })];
    });
    const runId = await stack.start(AGENT, "x");
    await send(stack, runId, "go", 1);
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed", output: [1, null] });
    const fired = await t.payloads(runId, "TimerFired");
    expect(fired).toHaveLength(2); // the pause, and the second wait
  });

  test("S5: an edit cuts the wait, and what was sent stays: the new code has it, and nothing is asked again", async () => {
    const first = waiting(async (ctx) => [await ctx.ask("r", 1), await ctx.waitFor("old"), await ctx.waitFor("go")]);
    const { runId } = await started(first.stack);
    await send(first.stack, runId, "go", "kept");
    await first.stack.drive({ agent: AGENT, runId });
    first.stack.stop();
    const second = waiting(async (ctx) => [await ctx.ask("r", 1), await ctx.waitFor("go")], 2);
    await second.stack.deps.queue.send([{ queue: "ticks", hint: { agent: AGENT, runId, taskId: null } }]);
    expect(await second.stack.drive({ agent: AGENT, runId })).toMatchObject({
      output: ['re [{"type":"text","text":"1"}]', "kept"],
    });
    expect([first.model.ledger.length, second.model.ledger.length]).toEqual([1, 0]);
  });
});

test("a failed run that is retried has what was sent to it, and waits only for what wasn't", async () => {
  let broken = true;
  const { stack } = waiting(async (ctx) => {
    const go = await ctx.waitFor("go");
    const work = async () => {
      if (broken) throw new Error("out of order");
    };
    await ctx.step("work", work, { attempts: 1 });
    return [go, await ctx.waitFor("early"), await ctx.waitFor("late")];
  });
  const { runId } = await started(stack);
  await send(stack, runId, "early", "e");
  await send(stack, runId, "go", "g");
  expect((await stack.drive({ agent: AGENT, runId }))?.status).toBe("failed");
  expect(await send(stack, runId, "late", "l")).toMatchObject({ error: { code: "run.ended" } });
  broken = false;
  expect(await retryRun(stack.deps, { agent: AGENT, runId, by: "ann" })).toEqual({ type: "told" });
  expect((await stack.drive({ agent: AGENT, runId }))?.status).toBe("waitingSignal");
  await send(stack, runId, "late", "l");
  expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed", output: ["g", "e", "l"] });
});

describe("a signal is refused, and nothing changes,", () => {
  test("for a run that isn't there, has ended, or is a session; and beyond the size", async () => {
    const { stack } = waiting(async (ctx) => await ctx.waitFor("go"));
    const { runId } = await started(stack);
    const big = await send(stack, runId, "go", "x".repeat(PAYLOAD_MAX_BYTES));
    expect(big).toMatchObject({ error: { code: "payload.too_large" } });
    await send(stack, runId, "go", 1);
    await stack.drive({ agent: AGENT, runId });
    expect(await send(stack, runId, "go", 2)).toMatchObject({ error: { code: "run.ended" } });
    const nobody = await send(stack, "00000000-0000-4000-8000-000000000000", "go", 2);
    expect(nobody).toMatchObject({ error: { code: "run.unknown" } });
    const chat = t.stack([role("r")], { kind: "session", role: "r" }, { model: createScriptedModel(() => "hi") });
    const session = await chat.start(AGENT, "hello");
    expect(await send(chat, session, "go", 2)).toMatchObject({
      error: { code: "run.is_a_session", message: expect.stringContaining("toren jobs send") },
    });
    expect(await t.sql(`SELECT FROM agent_${AGENT}.inbox WHERE kind = 'signal'`)).toHaveLength(1);
  });
});

test("a run that was told very many things takes no more signals", async () => {
  const { stack } = waiting(async (ctx) => await ctx.waitFor("last"));
  const { runId } = await started(stack);
  await t.sql(`UPDATE agent_${AGENT}.streams SET sealed_facts = $1 WHERE run_id = $2 AND stream_id = 'run'`, [
    2 - INBOX_FACTS_MAX, // two are as many as the bound
    runId,
  ]);
  const signal = (name: string) => sendSignal(stack.deps, { agent: AGENT, runId, signal: name, value: null });
  expect(await signal("one")).toEqual({ type: "told" });
  expect(await signal("two")).toEqual({ type: "told" });
  expect(await signal("three")).toMatchObject({ type: "refused", error: { code: "signal.too_many" } });
});
