// Runs that a workflow starts, on the real engine: begun with the event that says so, heard of by a fact, cancelled with their parent.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { digestOf } from "../../shared/core/digest.ts";
import { CHILD_DEPTH_MAX, COMMIT_BATCH_BYTES } from "../../shared/core/limits.ts";
import { childRunId } from "../../shared/core/workflow/child.ts";
import { ChildFailed, type WorkflowFn } from "../../shared/core/workflow/context.ts";
import { cancelRun } from "../../shared/engine/cancel-run.ts";
import { readRun } from "../../shared/engine/read-run.ts";
import { decideApproval, sendSignal } from "../../shared/engine/speak-to-task.ts";
import { role, tool, workflow } from "../support/agents.ts";
import { familyOf } from "./family.ts";
import { AGENT, type EngineTest, engineTest } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

const { family, started, children } = familyOf(() => t);

describe("a workflow that runs another process", () => {
  test("waits parked, and goes on with its output; the child's end and the news of it are one append", async () => {
    const { stack, model } = family({
      main: async (ctx) => ["child says", await ctx.run("sub", { topic: "x" })],
      sub: async (ctx) => await ctx.ask("r", ctx.input),
    });
    const { runId, row } = await started(stack);
    expect(row).toMatchObject({ status: "completed", output: ["child says", 're {"topic":"x"}'] });
    expect(await t.events(runId, "run")).toEqual(["RunCreated", "ChildStarted", "ChildEnded", "RunCompleted"]);
    expect(await children(runId)).toEqual([
      { run_id: childRunId(runId, 2), status: "completed", parent: runId, root: runId },
    ]);
    expect(stack.appended).toContain("run: ChildStarted plan");
    expect(stack.appended.at(-1)).toBe("run: ChildEnded RunCompleted end");
    expect(model.ledger).toHaveLength(1);
    expect(await t.payloads(childRunId(runId, 2), "RunCreated")).toEqual([
      { process: "sub", input: { topic: "x" }, parent: { run: runId, depth: 1 } },
    ]);
  });

  test("runs many at a time, and they answer in the order in which they were asked", async () => {
    const { stack } = family({
      main: async (ctx) => await Promise.all([1, 2, 3, 4, 5].map((n) => ctx.run("sub", n))),
      sub: async (ctx) => Number(ctx.input) * 10,
    });
    const { runId, row } = await started(stack);
    expect(row?.output).toEqual([10, 20, 30, 40, 50]);
    expect(await children(runId)).toHaveLength(5);
  });

  test("with large inputs starts them in a statement of bounded size; what they were asked arrives whole", async () => {
    const texts = Array.from({ length: 40 }, (_, i) => `${i} ${"x".repeat(150_000)}`);
    const { stack } = family({
      main: async (ctx) => await Promise.all(texts.map((text) => ctx.run("sub", text))),
      sub: async (ctx) => digestOf(ctx.input),
    });
    const { runId, row } = await started(stack);
    expect(row?.output).toEqual(texts.map(digestOf));
    const [{ bytes } = { bytes: 0 }] = await t.sql<{ bytes: number }>(
      `SELECT (SELECT sum(octet_length(payload::text)) FROM agent_${AGENT}.events WHERE type IN ('ChildStarted', 'RunCreated'))::int
            + (SELECT sum(octet_length(input::text)) FROM agent_${AGENT}.runs)::int AS bytes`,
    );
    expect(bytes).toBeLessThan(COMMIT_BATCH_BYTES);
    expect(await children(runId)).toHaveLength(texts.length);
  });

  test("may run itself, down to the depth that there is", async () => {
    const { stack } = family({
      main: async (ctx) => {
        try {
          return 1 + Number(await ctx.run("main", null));
        } catch (e) {
          if (!(e instanceof ChildFailed) && (e as { code?: string }).code === "child.too_deep") return 0;
          throw e;
        }
      },
    });
    const { row } = await started(stack);
    expect(row).toMatchObject({ status: "completed", output: CHILD_DEPTH_MAX });
    const [{ n } = { n: 0 }] = await t.sql<{ n: number }>(`SELECT count(*)::int AS n FROM agent_${AGENT}.runs`);
    expect(n).toBe(CHILD_DEPTH_MAX + 1);
  });

  test("fails with what the child failed by, and may catch it", async () => {
    const sub: WorkflowFn<never> = async () => {
      throw new Error("out of paper");
    };
    const { stack } = family({ main: async (ctx) => await ctx.run("sub", 1), sub });
    const { row } = await started(stack);
    expect(row).toMatchObject({
      status: "failed",
      error: { code: "workflow.threw", message: expect.stringContaining("out of paper") },
    });
    const catching = family({
      main: async (ctx) => await ctx.run("sub", 1).catch((e) => [e instanceof ChildFailed, e.code]),
      sub,
    });
    expect((await started(catching.stack)).row?.output).toEqual([true, "workflow.threw"]);
  });

  test("of which there is none fails as any run of it would", async () => {
    const { stack } = family({ main: async (ctx) => await ctx.run("nobody", 1).catch((e) => e.code) });
    expect((await started(stack)).row?.output).toBe("process.unknown");
  });
});

test("a parent says which run below it waits for somebody, however deep, until none does", async () => {
  const gated = role("g", { tools: [tool("pay", () => "paid", { approval: () => true })] });
  const model = createScriptedModel((r) => (r.messages.length === 1 ? { tools: [{ name: "pay", args: {} }] } : "done"));
  const processes = {
    middle: workflow<never>(async (ctx) => await ctx.run("deep", null)),
    deep: workflow<never>(async (ctx) => await ctx.ask("g", 1)),
    patient: workflow<never>(async (ctx) => await ctx.waitFor("go")),
  };
  const main = workflow<never>(async (ctx) => await Promise.all([ctx.run("patient", null), ctx.run("middle", null)]));
  const stack = t.stack([gated], main, { model, processes });
  const { runId, row } = await started(stack);
  expect(row?.status).toBe("running");
  const read = async () => await readRun(stack.deps, { agent: AGENT, runId });
  const ids = await t.sql<{ run_id: string; process: string }>(`SELECT run_id, process FROM agent_${AGENT}.runs`);
  const idOf = (process: string): string => ids.find((r) => r.process === process)?.run_id ?? "";
  expect((await read())?.reason).toBe(
    `run ${idOf("deep")} below (deep) waits for approval, and 1 more below waits: \`toren jobs show ${idOf("deep")}\``,
  );
  const approved = { agent: AGENT, runId: idOf("deep"), granted: true, by: "ann", comment: "" };
  expect((await decideApproval(stack.deps, approved)).type).toBe("told");
  await stack.drive({ agent: AGENT, runId });
  expect(await read()).toMatchObject({
    reason: `run ${idOf("patient")} below (patient) waits for a signal: \`toren jobs show ${idOf("patient")}\``,
    below: { runs: 3, waiting: { runs: 1, status: "waitingSignal" } },
  });
  await sendSignal(stack.deps, { agent: AGENT, runId: idOf("patient"), signal: "go", value: 1 });
  expect((await stack.drive({ agent: AGENT, runId }))?.status).toBe("completed");
  expect(await read()).toMatchObject({ reason: null, below: { waiting: null } });
});

describe("cancelling", () => {
  const waiting = {
    main: async (ctx: { run(p: string, i: null): Promise<unknown> }) => await ctx.run("sub", null),
    deep: async (ctx: { waitFor(s: string): Promise<unknown> }) => await ctx.waitFor("never"),
  };
  const sub = async (ctx: { run(p: string, i: null): Promise<unknown> }) => await ctx.run("deep", null);

  test("I10: goes down to what stands below, and a parent that waits holds nothing", async () => {
    const { stack } = family({ ...waiting, sub } as never);
    const { runId, row } = await started(stack);
    expect(row?.status).toBe("running");
    const [own] = await stack.deps.store.runs.streams(AGENT, runId);
    expect(own).toMatchObject({ status: "parked", wait: "child", wakeAt: null });
    await cancelRun(stack.deps, { agent: AGENT, runId, reason: "enough" });
    await stack.drive({ agent: AGENT, runId });
    const [child] = await children(runId);
    await stack.drive({ agent: AGENT, runId: child?.run_id ?? "" });
    const [grandchild] = await children(child?.run_id ?? "");
    expect(await stack.drive({ agent: AGENT, runId: grandchild?.run_id ?? "" })).toMatchObject({
      status: "cancelled",
      error: { code: "run.cancelled", message: "the run that started this one has ended" },
    });
  });

  test("of a child is a failure that its parent hears of", async () => {
    const { stack } = family({
      ...waiting,
      main: async (ctx: never) =>
        await (ctx as { run(p: string, i: null): Promise<string> }).run("sub", null).catch((e) => e.code),
      sub,
    } as never);
    const { runId } = await started(stack);
    const [child] = await children(runId);
    await cancelRun(stack.deps, { agent: AGENT, runId: child?.run_id ?? "", reason: "not this one" });
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed", output: "run.cancelled" });
  });
});

test("a budget is for a run and all below it, and children that work at the same time never pass it", async () => {
  const look = tool("look", () => "seen");
  const model = createScriptedModel(() => ({ tools: [{ name: "look", args: {} }] }));
  const processes = {
    sub: workflow<never>(async (ctx) =>
      Number(ctx.input) > 2 ? await ctx.ask("r", ctx.input) : await ctx.run("sub", Number(ctx.input) + 1),
    ),
  };
  const main = workflow<never>(
    async (ctx) => await Promise.all([0, 1, 2, 3].map((n) => ctx.run("sub", n).catch((e) => e.code))),
  );
  const stack = t.stack([role("r", { tools: [look], maxTokens: 100 })], main, { model, processes });
  const runId = await stack.start(AGENT, "x", { maxCostUsd: 0.02, totalTokens: null });
  const row = await stack.drive({ agent: AGENT, runId });
  expect(row?.output).toEqual(Array(4).fill("budget_exhausted"));
  const [{ usd, budgets } = { usd: 1, budgets: 0 }] = await t.sql<{ usd: number; budgets: number }>(
    `SELECT sum((payload #>> '{cost,usd}')::float8) AS usd, (SELECT count(*)::int FROM agent_${AGENT}.budgets) AS budgets
     FROM agent_${AGENT}.events WHERE type = 'LlmCallCompleted'`,
  );
  expect(budgets).toBe(1);
  expect(usd).toBeLessThanOrEqual(0.02);
  expect(row?.budget?.spent.nanoUsd).toBe(Math.round(usd * 1e9));
  expect(row?.budget?.reserved).toEqual({ tokens: 0, nanoUsd: 0 });
  const [child] = await children(runId);
  const view = await readRun(stack.deps, { agent: AGENT, runId });
  expect(view?.below?.spent.nanoUsd).toBe(row?.budget?.spent.nanoUsd);
  expect(view).toMatchObject({ childCount: 4, below: { runs: 10 } });
  expect((await readRun(stack.deps, { agent: AGENT, runId: child?.run_id ?? "" }))?.run).toMatchObject({
    parent: runId,
    budget: row?.budget,
  });
});
