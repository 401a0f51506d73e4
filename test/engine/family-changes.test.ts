// What becomes of child runs when their parent is edited or retried.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel, type ScriptedModel } from "../../shared/adapters/model/script.ts";
import type { WorkflowFn } from "../../shared/core/workflow/context.ts";
import { cancelRun } from "../../shared/engine/cancel-run.ts";
import { readRun } from "../../shared/engine/read-run.ts";
import { retryRun } from "../../shared/engine/retry-run.ts";
import { decideCut, sendSignal } from "../../shared/engine/speak-to-task.ts";
import type { RoleDefinition } from "../../shared/ports/agents.ts";
import type { RunRow } from "../../shared/ports/store.ts";
import { role, workflow } from "../support/agents.ts";
import { checkLog, dumpDatabase } from "../support/log-checker.ts";
import type { Stack } from "../support/stack.ts";
import { familyOf, type Processes, paying } from "./family.ts";
import { AGENT, type EngineTest, engineTest, firstText, until } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

const { family, started, children } = familyOf(() => t);

/** A family whose code is edited while its runs go on. */
function edited(model: ScriptedModel, roles: readonly RoleDefinition[]) {
  let [generation, runId] = [0, ""];
  let stack: Stack | undefined;
  return {
    get runId() {
      return runId;
    },
    get stack() {
      if (stack === undefined) throw new Error("nothing has begun");
      return stack;
    },
    edit: async ({ main, ...rest }: Processes & { main: WorkflowFn<never> }): Promise<RunRow | null> => {
      stack?.stop();
      const processes = Object.fromEntries(Object.entries(rest).map(([name, run]) => [name, workflow(run)]));
      stack = t.stack(roles, workflow(main), { model, processes, generation: ++generation });
      if (runId === "") runId = await stack.start(AGENT, "x");
      else await stack.deps.queue.send([{ queue: "ticks", hint: { agent: AGENT, runId, taskId: null } }]);
      return await stack.drive({ agent: AGENT, runId });
    },
  };
}

describe("an edit", () => {
  const sub: WorkflowFn<never> = async (ctx) => await ctx.ask("r", ctx.input);

  test("keeps children that are still asked for, ended or not, and pays for none twice", async () => {
    const model = createScriptedModel((r) => `re ${firstText(r)}`);
    const { edit } = edited(model, [role("r")]);
    const wait: WorkflowFn<never> = async (ctx) => await ctx.waitFor("never");
    await edit({ main: async (ctx) => [await ctx.run("sub", "a"), await ctx.run("wait", null)], sub, wait });
    const row = await edit({
      main: async (ctx) => [(await ctx.now()) > 0, await ctx.run("sub", "b"), await ctx.run("sub", "a")],
      sub,
      wait,
    });
    expect(row).toMatchObject({ status: "completed", output: [true, "re b", "re a"] });
    expect(model.ledger.map(({ request }) => firstText(request))).toEqual(["a", "b"]);
  });

  test("takes a running child over, and the one that nobody asks for any more stops with its parent", async () => {
    const model = createScriptedModel((r) => `re ${firstText(r)}`);
    const { edit, stack, runId } = await (async () => {
      const e = edited(model, [role("r")]);
      const wait: WorkflowFn<never> = async (ctx) => [await ctx.ask("r", ctx.input), await ctx.waitFor("go")];
      await e.edit({ main: async (ctx) => await Promise.all([ctx.run("wait", "a"), ctx.run("wait", "b")]), wait });
      await e.edit({ main: async (ctx) => ["edited", await ctx.run("wait", "b")], wait });
      return { edit: e.edit, stack: e.stack, runId: e.runId };
    })();
    expect(edit).toBeDefined();
    const [a, b] = await children(runId);
    expect(await sendSignal(stack.deps, { agent: AGENT, runId: b?.run_id ?? "", signal: "go", value: 1 })).toEqual({
      type: "told",
    });
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ output: ["edited", ["re b", 1]] });
    expect((await stack.drive({ agent: AGENT, runId: a?.run_id ?? "" }))?.status).toBe("cancelled");
    expect(model.ledger).toHaveLength(2);
  });

  test("leaves a child that it drops to whoever cancels it: the parent takes no notice", async () => {
    const model = createScriptedModel((r) => `re ${firstText(r)}`);
    const e = edited(model, [role("r")]);
    const wait: WorkflowFn<never> = async (ctx) => await ctx.waitFor("go");
    await e.edit({ main: async (ctx) => await ctx.run("wait", "a"), wait });
    await e.edit({ main: async (ctx) => await ctx.run("wait", "b"), wait });
    const [a, b] = await children(e.runId);
    await cancelRun(e.stack.deps, { agent: AGENT, runId: a?.run_id ?? "", reason: "not wanted any more" });
    await e.stack.drive({ agent: AGENT, runId: e.runId });
    expect((await children(e.runId)).map((c) => c.status)).toEqual(["cancelled", "waitingSignal"]);
    await sendSignal(e.stack.deps, { agent: AGENT, runId: b?.run_id ?? "", signal: "go", value: 1 });
    expect(await e.stack.drive({ agent: AGENT, runId: e.runId })).toMatchObject({ status: "completed", output: 1 });
  });

  test("I6b: that drops a child which has done what can't be done twice asks, and --keep has it answer", async () => {
    const { paid, payer } = paying();
    const model = createScriptedModel((r) =>
      r.messages.length === 1 ? { tools: [{ name: "pay", args: { to: firstText(r) } }] } : `paid ${firstText(r)}`,
    );
    const book: WorkflowFn<never> = async (ctx) => await ctx.ask("payer", ctx.input);
    for (const decision of ["keep", "rerun"] as const) {
      const e = edited(model, [payer]);
      await e.edit({ main: async (ctx) => [await ctx.run("book", "Ann"), await ctx.waitFor("go")], book });
      expect(paid).toEqual(["Ann"]);
      const row = await e.edit({ main: async (ctx) => await ctx.run("book", "Bob"), book });
      expect(row?.status).toBe("waitingCut");
      const [child] = await children(e.runId);
      const [cut] = (await readRun(e.stack.deps, { agent: AGENT, runId: e.runId }))?.cuts ?? [];
      expect(cut).toMatchObject({
        calls: [`run ${child?.run_id}: pay`],
        price: { modelCalls: 2 },
        instead: { stands: [{ task: child?.run_id, was: 'book "Ann"', now: 'book "Bob"' }], standing: 1 },
      });
      await decideCut(e.stack.deps, { agent: AGENT, runId: e.runId, decision, by: "ann" });
      const output = decision === "keep" ? "paid Ann" : "paid Bob";
      expect(await e.stack.drive({ agent: AGENT, runId: e.runId })).toMatchObject({ status: "completed", output });
      expect(paid.splice(0)).toEqual(decision === "keep" ? ["Ann"] : ["Ann", "Bob"]);
      await t.reset();
    }
  });
});

describe("a retry", () => {
  test("of a parent has the child go on by which it failed, with what the child has on record; a child isn't retried itself", async () => {
    let away = true;
    const model = createScriptedModel((r) =>
      firstText(r) === "second" && away ? { refusal: true } : `re ${firstText(r)}`,
    );
    const processes = {
      sub: workflow<never>(async (ctx) => [await ctx.ask("r", "first"), await ctx.run("deep", null)]),
      deep: workflow<never>(async (ctx) => await ctx.ask("r", "second")),
    };
    const main = workflow<never>(async (ctx) => ["main", await ctx.run("sub", null)]);
    const stack = t.stack([role("r")], main, { model, processes });
    const { runId, row } = await started(stack);
    expect(row).toMatchObject({ status: "failed", error: { code: "model.refused" } });
    const [child] = await children(runId);
    const alone = await retryRun(stack.deps, { agent: AGENT, runId: child?.run_id ?? "", by: "ann" });
    expect(alone).toMatchObject({ error: { code: "run.is_a_child", message: expect.stringContaining(runId) } });
    expect(await retryRun(stack.deps, { agent: AGENT, runId, by: "ann" })).toEqual({ type: "told" });
    expect((await stack.drive({ agent: AGENT, runId }))?.status).toBe("failed"); // once a retry
    away = false;
    await until(async () => (await retryRun(stack.deps, { agent: AGENT, runId, by: "ann" })).type === "told");
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({
      status: "completed",
      output: ["main", ["re first", "re second"]],
    });
    expect(model.ledger.map(({ request }) => firstText(request))).toEqual(["first", "second", "second", "second"]);
    expect(checkLog(await dumpDatabase(t.database.pool, AGENT))).toEqual([]);
  });

  test("has children go on that were stopped with it, and those that ended meanwhile are heard of", async () => {
    let broken = true;
    const { stack } = family({
      main: async (ctx) =>
        await Promise.all([
          ctx.run("slow", null),
          ctx.run("quick", null),
          ctx.step(
            "work",
            async () => {
              if (broken) throw new Error("out of order");
              return null;
            },
            { attempts: 1 },
          ),
        ]),
      slow: async (ctx) => await ctx.waitFor("go"),
      quick: async (ctx) => await ctx.ask("r", "quick"),
    });
    const { runId, row } = await started(stack);
    expect(row?.status).toBe("failed");
    broken = false;
    await until(async () => {
      await stack.drive({ agent: AGENT, runId: (await children(runId))[0]?.run_id ?? "" });
      return (await retryRun(stack.deps, { agent: AGENT, runId, by: "ann" })).type === "told";
    });
    await stack.drive({ agent: AGENT, runId });
    const slow =
      (await t.sql<{ run_id: string }>(`SELECT run_id FROM agent_${AGENT}.runs WHERE process = 'slow'`))[0]?.run_id ??
      "";
    expect(await sendSignal(stack.deps, { agent: AGENT, runId: slow, signal: "go", value: "gone" })).toEqual({
      type: "told",
    });
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({
      status: "completed",
      output: ["gone", "re quick", null],
    });
    expect(checkLog(await dumpDatabase(t.database.pool, AGENT))).toEqual([]);
  });
});

test("a retry hears of a child that ended when its parent had failed, and told nobody", async () => {
  let broken = true;
  const { stack } = family({
    main: async (ctx) => await Promise.all([ctx.run("slow", null), ctx.waitFor("fail").then(failing)]),
    slow: async (ctx) => await ctx.waitFor("go"),
  });
  const failing = () => {
    if (broken) throw new Error("out of order");
    return "mended";
  };
  const { runId } = await started(stack);
  const [slow] = await children(runId);
  const stream = { agent: AGENT, runId: slow?.run_id ?? "", streamId: "run" };
  const as = { owner: stack.deps.uuid(), generation: 1, leaseMs: 30_000, solo: false };
  const taken = await stack.deps.store.streams.acquire(stream, as); // whoever is about to write its end when its parent fails
  if (taken.type !== "acquired") throw new Error(taken.type);
  await sendSignal(stack.deps, { agent: AGENT, runId, signal: "fail", value: null });
  await until(async () => (await stack.drive({ agent: AGENT, runId }))?.status === "failed");
  const { lease } = taken;
  const next = { type: "end", outcome: { status: "completed", output: "in time" } } as const;
  const events = [{ type: "RunCompleted", payload: { output: "in time" } }];
  expect(
    await stack.deps.store.streams.append({ lease, head: lease.head, events, next, progress: true }),
  ).toMatchObject({ type: "ok" });
  broken = false;
  expect(await retryRun(stack.deps, { agent: AGENT, runId, by: "ann" })).toEqual({ type: "told" });
  expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({
    status: "completed",
    output: ["in time", "mended"],
  });
});
