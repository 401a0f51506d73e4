// Budgets on the real engine: of a task and of a run, in tokens and in dollars.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { NO_USAGE, totalTokens, type Usage } from "../../shared/core/messages.ts";
import { type Budget, NO_BUDGET } from "../../shared/core/task/ledger.ts";
import { readRun } from "../../shared/engine/read-run.ts";
import type { RoleDefinition } from "../../shared/ports/agents.ts";
import { agent, role, serving, tool, workflow } from "../support/agents.ts";
import { createStack } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

const MAIN = { kind: "role", role: "main" } as const;
const look = tool("look", () => "seen");
const endless = () => createScriptedModel(() => ({ tools: [{ name: "look", args: {} }] }));

describe("budgets", () => {
  const run = async (more: Partial<RoleDefinition>, budget: Budget) => {
    const stack = t.stack([role("main", { tools: [look], maxTokens: 100, ...more })], MAIN, { model: endless() });
    const runId = await stack.start(AGENT, "x", budget);
    const row = await stack.drive({ agent: AGENT, runId });
    const answers = await t.payloads(runId, "LlmCallCompleted");
    const usd = answers.reduce((sum, p) => sum + (p.cost as { usd: number }).usd, 0);
    return { row, runId, usd, calls: answers.length, stack };
  };

  test("maxCostUsd of a role: the call that might pass it isn't made", async () => {
    const { row, usd, calls } = await run({ maxCostUsd: 0.005 }, NO_BUDGET);
    expect(row).toMatchObject({ status: "failed", error: { code: "budget_exhausted" }, budget: null });
    expect(row?.error?.message).toContain("the role's maxCostUsd of 0.005");
    expect(calls).toBeGreaterThan(3);
    expect(usd).toBeLessThanOrEqual(0.005);
  });

  test("of a run: kept beside the log, in the books of the run to the last billionth", async () => {
    const { row, usd } = await run({}, { maxCostUsd: 0.005, totalTokens: null });
    expect(row).toMatchObject({ status: "failed", error: { code: "budget_exhausted" } });
    expect(row?.error?.message).toContain("the run's maxCostUsd of 0.005");
    expect(row?.budget?.reserved).toEqual({ tokens: 0, nanoUsd: 0 });
    expect(row?.budget?.spent.nanoUsd).toBe(Math.round(usd * 1e9));
    expect(usd).toBeLessThanOrEqual(0.005);
  });

  test("a price that nobody knows can't be capped in dollars; tokens can", async () => {
    const unknown = { ...endless(), ledger: [] };
    const stack = t.stack([role("main", { model: "openai/nobody-knows" })], MAIN, { model: unknown });
    const runId = await stack.start(AGENT, "x", { maxCostUsd: 1, totalTokens: null });
    const row = await stack.drive({ agent: AGENT, runId });
    expect(row).toMatchObject({ status: "failed", error: { code: "model.price_unknown" } });
    expect(row?.error?.message).toContain("set it in agent.yaml");
  });

  test("a call that was begun and never answered counts as spent once it is sent again", async () => {
    let hang = true;
    const model = createScriptedModel(() => (hang ? new Promise<string>(() => {}) : "done"));
    const first = t.stack([role("main", { maxTokens: 100 })], MAIN, { model });
    const runId = await first.start(AGENT, "x", { maxCostUsd: null, totalTokens: 10_000 });
    void first.drive({ agent: AGENT, runId }).catch(() => {});
    for (; model.ledger.length === 0; ) await new Promise((r) => setTimeout(r, 5));
    const held = (await first.deps.store.runs.get(AGENT, runId))?.budget?.reserved.tokens ?? 0;
    expect(held).toBeGreaterThan(100);
    first.fate.dead = true;
    first.fate.onDeath();
    first.stop();
    hang = false;
    await t.sql(`UPDATE agent_${AGENT}.streams SET lease_until = now(), wake_at = now() WHERE run_id = $1`, [runId]);
    await t.sql("UPDATE toren_control.queue_messages SET visible_at = now()");
    const second = t.stack([role("main", { maxTokens: 100 })], MAIN, { model });
    const row = await second.drive({ agent: AGENT, runId });
    const [answer] = await t.payloads(runId, "LlmCallCompleted");
    const { input, output } = (answer ?? { usage: null }).usage as { input: number; output: number };
    expect(row).toMatchObject({ status: "completed", budget: { spent: { tokens: held + input + output } } });
  });

  test("a call that failed after its provider had counted is paid: in the log, the list, the books of the run and of its budget", async () => {
    const usage = { input: 300, cacheRead: 200, cacheWrite: 100, output: 40, reasoning: 10 };
    const model = createScriptedModel((_, n) => (n < 2 ? { status: 529, usage } : "done"));
    const stack = t.stack([role("main", { maxTokens: 100 })], MAIN, { model });
    const runId = await stack.start(AGENT, "x", { maxCostUsd: 1, totalTokens: 10_000 });
    const row = await stack.drive({ agent: AGENT, runId });
    const failed = await t.payloads(runId, "LlmCallFailed");
    const price = { input: 1, cacheRead: 0.1, cacheWrite: 1.25, output: 5 };
    const usd = (300 * price.input + 200 * price.cacheRead + 100 * price.cacheWrite + 40 * price.output) / 1e6;
    expect(failed).toMatchObject([1, 2].map(() => ({ usage, cost: { usd, simulated: true } })));
    const [answer] = (await t.payloads(runId, "LlmCallCompleted")) as [{ usage: Usage; cost: { usd: number } }];
    const tokens = 2 * 640 + totalTokens(answer.usage);
    const nanoUsd = Math.round((2 * usd + answer.cost.usd) * 1e9);
    expect(row?.budget).toMatchObject({ spent: { tokens, nanoUsd }, reserved: { tokens: 0, nanoUsd: 0 } });
    const [listed] = await t.sql(
      `SELECT sum(model_calls)::int AS calls, sum(tokens_in + tokens_out)::int AS tokens, sum(cost_nano)::int AS nano, sum(paid_nano)::int AS paid
       FROM agent_${AGENT}.streams WHERE run_id = $1`,
      [runId],
    );
    expect(listed).toEqual({ calls: 1, tokens, nano: nanoUsd, paid: nanoUsd });
    const view = await readRun(stack.deps, { agent: AGENT, runId });
    expect(totalTokens(view?.usage ?? NO_USAGE)).toBe(tokens);
    expect(Math.round((view?.costUsd ?? 0) * 1e9)).toBe(nanoUsd);
    expect(view?.receipt).toMatchObject({ modelCalls: 1, unanswered: 2 });
  });

  test("failed calls that were paid reach the cap as answers do", async () => {
    const usage = { input: 900, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 };
    const model = createScriptedModel(() => ({ status: 529, usage }));
    const stack = t.stack([role("main", { maxTokens: 100, totalTokens: 1_850 })], MAIN, { model });
    const runId = await stack.start(AGENT, "x");
    const row = await stack.drive({ agent: AGENT, runId });
    expect(row).toMatchObject({ status: "failed", error: { code: "budget_exhausted" } });
    expect(model.ledger).toHaveLength(2);
  });

  test("no budget: no row, and no append is dearer for it", async () => {
    const stack = t.stack(
      [role("main")],
      workflow(async (ctx) => await ctx.ask("main", "x")),
      {
        model: createScriptedModel(() => "done"),
      },
    );
    const runId = await stack.start(AGENT, "x");
    await stack.drive({ agent: AGENT, runId });
    expect(await t.sql(`SELECT 1 FROM agent_${AGENT}.budgets`)).toEqual([]);
    expect(stack.appended.filter((a) => a.startsWith("task:"))).toHaveLength(2);
  });
});

test("the limits of an agent hold for each of its runs; a run may have lower ones, not higher", async () => {
  const limits = { maxParallel: null, maxCostUsd: 0.01, totalTokens: 500 };
  const own = { ...agent(AGENT, [role("main")], MAIN), limits };
  const stack = createStack({ database: t.database, agents: serving(own), model: createScriptedModel(() => "done") });
  const budgetOf = async (asked?: Budget) => {
    const runId = await stack.start(AGENT, "x", asked);
    const row = await stack.deps.store.runs.get(AGENT, runId);
    return [row?.budget?.maxCostUsd, row?.budget?.totalTokens];
  };
  expect(await budgetOf()).toEqual([0.01, 500]);
  expect(await budgetOf({ maxCostUsd: 5, totalTokens: 20 })).toEqual([0.01, 20]);
  stack.stop();
});
