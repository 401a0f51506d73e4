// Flow control on the real engine: how much is done at once, over all workers, and what a 429 does to all of them.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import type { AgentDefinition } from "../../shared/ports/agents.ts";
import { agent, role, SCRIPT, serving, workflow } from "../support/agents.ts";
import { createStack, type Stack } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest } from "./support.ts";

let t: EngineTest;
const stacks: Stack[] = [];
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => {
  for (const stack of stacks.splice(0)) stack.stop();
  await t.reset();
  await t.sql("DELETE FROM toren_control.gates");
});
afterAll(async () => await t.close());

const pause = (ms: number) => new Promise((r) => setTimeout(r, ms));

/** A provider that counts how many calls are under way; `allow`: over it everybody gets a 429. */
function provider(ms: number, allow = Infinity) {
  const seen = { now: 0, most: 0, refused: 0 };
  const model = createScriptedModel(async (): Promise<Turn> => {
    seen.now++;
    seen.most = Math.max(seen.most, seen.now);
    const over = seen.now > allow;
    await pause(over ? 1 : ms);
    seen.now--;
    if (!over) return "done";
    seen.refused++;
    return { status: 429, retryAfterMs: 100 };
  });
  return { model, seen };
}

const wave = (n: number, options: { maxParallel?: number } = {}) =>
  workflow(async (ctx) => {
    const tasks = Array.from({ length: n }, (_, i) => ctx.task("r", i));
    return (await ctx.wave("w", tasks, options)).results.filter((r) => r.status === "completed").length;
  });

const settings = { maxInFlight: null, tokensPerMinute: null, contextWindow: null, maxOutput: null, price: null };

async function run(definition: AgentDefinition, model: ReturnType<typeof provider>["model"], workers = 1) {
  const made = Array.from({ length: workers }, () =>
    createStack({ database: t.database, agents: serving(definition), model }),
  );
  stacks.push(...made);
  const [first] = made as [Stack];
  const runId = await first.start(AGENT, "x");
  // A stack drives until nothing moves; what waits at a gate doesn't move for a moment.
  for (let tries = 0; ; tries++) {
    await Promise.all(made.map((stack) => stack.drive({ agent: AGENT, runId }, { timeoutMs: 50_000 })));
    const row = await first.deps.store.runs.get(AGENT, runId);
    if (row?.endedAt != null || tries > 50) return { row, runId };
    await pause(50);
  }
}

describe("flow control", () => {
  test("maxInFlight of a model: a wave of 1,000 by two workers, never more than twenty calls under way, none failed", async () => {
    const { model, seen } = provider(2);
    const definition = {
      ...agent(AGENT, [role("r")], wave(1_000)),
      models: new Map([[SCRIPT, { ...settings, maxInFlight: 20 }]]),
    };
    const { row, runId } = await run(definition, model, 2);
    expect(row).toMatchObject({ status: "completed", output: 1_000 });
    expect(seen.most).toBeLessThanOrEqual(20);
    expect(await t.payloads(runId, "LlmCallFailed")).toEqual([]);
    expect(model.ledger).toHaveLength(1_000);
  }, 60_000);

  test("a provider that allows few at once: one 429 cools the model down for all, and the wave ends without a failure", async () => {
    const { model, seen } = provider(5, 6);
    const { row } = await run(agent(AGENT, [role("r")], wave(60)), model, 2);
    expect(row).toMatchObject({ status: "completed", output: 60 });
    expect(seen.refused).toBeLessThan(60);
  }, 60_000);

  test("maxParallel of a wave, and of an agent: so many tasks are worked on at once", async () => {
    const { model, seen } = provider(5);
    const { row } = await run(agent(AGENT, [role("r")], wave(30, { maxParallel: 2 })), model);
    expect(row).toMatchObject({ status: "completed", output: 30 });
    expect(seen.most).toBeLessThanOrEqual(2);
    const other = provider(5);
    const limits = { maxParallel: 3, maxCostUsd: null, totalTokens: null };
    const bounded = { ...agent(AGENT, [role("r")], wave(30)), limits };
    expect((await run(bounded, other.model)).row).toMatchObject({ status: "completed" });
    expect(other.seen.most).toBeLessThanOrEqual(3);
  }, 60_000);

  test("nothing is left behind at the gates", async () => {
    const { model } = provider(1);
    const definition = {
      ...agent(AGENT, [role("r")], wave(10, { maxParallel: 2 })),
      models: new Map([[SCRIPT, { ...settings, maxInFlight: 1 }]]),
    };
    await run(definition, model);
    expect(await t.sql("SELECT key, inside, waiting FROM toren_control.gates WHERE inside > 0 OR waiting > 0")).toEqual(
      [],
    );
  }, 60_000);
});
