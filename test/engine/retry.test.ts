// Over 300 lines: they share one rig. A failed run that goes on: what failed is done again, and nothing that is on record.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import type { Json } from "../../shared/core/json.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import type { WorkflowFn } from "../../shared/core/workflow/context.ts";
import { cancelRun } from "../../shared/engine/cancel-run.ts";
import { readRun } from "../../shared/engine/read-run.ts";
import { retryRun } from "../../shared/engine/retry-run.ts";
import { sendMessage } from "../../shared/engine/speak-to-task.ts";
import type { RoleDefinition } from "../../shared/ports/agents.ts";
import type { RunRow } from "../../shared/ports/store.ts";
import { role, tool, workflow } from "../support/agents.ts";
import type { Stack } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest, firstText, resetChecked, until } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(() => resetChecked(t));
afterAll(async () => await t.close());

const AUTH = { status: 401 } as const;

/** Answers `<text>`, but what `broken` names fails until it is mended. */
function outage(...broken: string[]) {
  const down = new Set(broken);
  const asked: string[] = [];
  const model = createScriptedModel((request): Turn => {
    const text = firstText(request);
    asked.push(text);
    return down.has(text) ? AUTH : `<${text}>`;
  });
  return { model, asked, mend: () => down.clear(), break: (text: string) => down.add(text) };
}

interface Rig {
  readonly stack: Stack;
  readonly runId: string;
  drive(): Promise<RunRow | null>;
  retry(by?: string): Promise<string>;
}

async function started(
  run: WorkflowFn,
  model: ReturnType<typeof createScriptedModel>,
  roles: readonly RoleDefinition[] = [role("r")],
): Promise<Rig> {
  const stack = t.stack(roles, workflow(run), { model });
  const runId = await stack.start(AGENT, "x");
  return rig(stack, runId);
}

const rig = (stack: Stack, runId: string): Rig => ({
  stack,
  runId,
  drive: async () => {
    const row = await stack.drive({ agent: AGENT, runId });
    await until(async () => (await stack.deps.store.tasks.open(AGENT, runId)).length === 0 || row?.endedAt === null);
    return row;
  },
  retry: async (by = "ann") => {
    const told = await retryRun(stack.deps, { agent: AGENT, runId, by });
    return told.type === "told" ? "told" : told.error.code;
  },
});

describe("a task that failed", () => {
  test("goes on, and its siblings' answers are free", async () => {
    const { model, asked, mend } = outage("bad");
    const { drive, retry, runId, stack } = await started(async (ctx) => {
      const { results } = await ctx.wave(
        "w",
        ["good", "bad", "fine"].map((i) => ctx.task("r", i)),
        { onTaskFailure: "collect" },
      );
      const failed = results.find((r) => r.status === "failed");
      if (failed !== undefined) throw new Error(`not all: ${failed.error}`);
      return results.map((r) => r.output ?? null);
    }, model);
    expect(await drive()).toMatchObject({ status: "failed", error: { code: "workflow.threw" } });
    mend();
    expect(await retry()).toBe("told");
    expect(await drive()).toMatchObject({
      status: "completed",
      output: ["<good>", "<bad>", "<fine>"],
      error: null,
      retries: 1,
    });
    expect(asked.sort()).toEqual(["bad", "bad", "fine", "good"]);
    expect((await t.payloads(runId, "StreamInvalidated")).map((p) => p.retry)).toEqual([
      { by: "ann", upTo: expect.any(Number) },
      { by: "ann", upTo: expect.any(Number) },
    ]);
    expect((await readRun(stack.deps, { agent: AGENT, runId }))?.receipt).toMatchObject({ repaid: 0, modelCalls: 3 });
  });

  test("in a wave under `fail`: siblings that were cancelled for it go on too", async () => {
    let open = false;
    const asked: string[] = [];
    const model = createScriptedModel(async (request) => {
      const text = firstText(request);
      asked.push(text);
      if (text === "bad" && !open) {
        await until(() => asked.includes("slow"));
        return AUTH;
      }
      if (text === "slow" && !open) return await new Promise<never>(() => {});
      return `<${text}>`;
    });
    const { drive, retry } = await started(async (ctx) => {
      const { results } = await ctx.wave(
        "w",
        ["good", "bad", "slow"].map((i) => ctx.task("r", i)),
      );
      return results.map((r) => r.output ?? null);
    }, model);
    expect(await drive()).toMatchObject({ status: "failed", error: { code: "wave.failed" } });
    open = true;
    expect(await retry()).toBe("told");
    expect(await drive()).toMatchObject({ status: "completed", output: ["<good>", "<bad>", "<slow>"] });
    expect(asked.filter((text) => text === "good")).toHaveLength(1);
  });

  test("fails again: the run fails again, siblings are cancelled again, and another retry goes on", async () => {
    const { model, mend } = outage("bad");
    const { drive, retry, runId } = await started(async (ctx) => {
      const { results } = await ctx.wave("w", [ctx.task("r", "bad"), ctx.task("r", "good")]);
      return results.map((r) => r.output ?? null);
    }, model);
    for (let n = 0; n < 3; n++) {
      expect(await drive()).toMatchObject({ status: "failed", retries: n });
      if (n === 2) mend();
      expect(await retry()).toBe("told");
    }
    expect(await drive()).toMatchObject({ status: "completed", retries: 3 });
    const keys = await t.sql<{ key: string }>(
      `SELECT key FROM agent_${AGENT}.inbox WHERE run_id = $1 AND stream_id = 'run' AND kind = 'wave' ORDER BY seq`,
      [runId],
    );
    expect(keys.map((k) => k.key)).toEqual(["wave:0", "wave:0:1", "wave:0:2", "wave:0:3"]);
  });

  test("refused by its model: the question is asked again, which is paid", async () => {
    let refuses = true;
    const model = createScriptedModel((request) => (refuses ? { refusal: true } : `<${firstText(request)}>`));
    const { drive, retry, runId, stack } = await started(async (ctx) => await ctx.ask("r", "q"), model);
    expect(await drive()).toMatchObject({ status: "failed", error: { code: "model.refused" } });
    refuses = false;
    expect(await retry()).toBe("told");
    expect(await drive()).toMatchObject({ status: "completed", output: "<q>" });
    expect((await readRun(stack.deps, { agent: AGENT, runId }))?.receipt).toMatchObject({ modelCalls: 2, repaid: 0 });
  });

  test("its tools' results stay, and none runs again", async () => {
    let broken = true;
    let made = 0;
    const charge = tool("charge", () => ++made, { effects: "external" });
    const model = createScriptedModel((request) => {
      if (request.messages.length === 1) return { tools: [{ name: "charge", args: {} }] };
      return broken ? AUTH : "done";
    });
    const { drive, retry } = await started(async (ctx) => await ctx.ask("r", "q"), model, [
      role("r", { tools: [charge] }),
    ]);
    expect(await drive()).toMatchObject({ status: "failed" });
    broken = false;
    expect(await retry()).toBe("told");
    expect(await drive()).toMatchObject({ status: "completed", output: "done" });
    expect(made).toBe(1);
    expect(model.ledger).toHaveLength(3);
  });

  test("by a cap that was raised since", async () => {
    const turns = (request: ModelRequest): Turn =>
      request.messages.length < 7 ? { tools: [{ name: "look", args: { n: request.messages.length } }] } : "done";
    const model = createScriptedModel(turns);
    const look = tool("look", () => 1);
    const low = t.stack([role("r", { tools: [look], maxSteps: 2 })], { kind: "role", role: "r" }, { model });
    const runId = await low.start(AGENT, "x");
    expect(await rig(low, runId).drive()).toMatchObject({ status: "failed", error: { code: "max_steps" } });
    low.stop();
    const high = rig(
      t.stack([role("r", { tools: [look] })], { kind: "role", role: "r" }, { model, generation: 2 }),
      runId,
    );
    expect(await high.retry()).toBe("told");
    expect(await high.drive()).toMatchObject({ status: "completed" });
    expect(model.ledger).toHaveLength(4);
  });
});

describe("a run's budget", () => {
  test("is raised with the retry, and never lowered", async () => {
    const look = tool("look", () => 1);
    const model = createScriptedModel((request) =>
      request.messages.length < 5 ? { tools: [{ name: "look", args: { n: request.messages.length } }] } : "done",
    );
    const stack = t.stack([role("r", { tools: [look] })], { kind: "role", role: "r" }, { model });
    const runId = await stack.start(AGENT, "x", { totalTokens: 1_100, maxCostUsd: null });
    const { drive } = rig(stack, runId);
    expect(await drive()).toMatchObject({ status: "failed", error: { code: "budget_exhausted" } });
    const asked = model.ledger.length;
    const retry = (totalTokens: number | null, maxCostUsd: number | null = null) =>
      retryRun(stack.deps, { agent: AGENT, runId, by: "ann", caps: { totalTokens, maxCostUsd } });
    expect(await retry(1_000)).toMatchObject({
      error: { code: "request.invalid", message: expect.stringContaining("1100") },
    });
    expect(await retry(null, 5)).toMatchObject({ error: { code: "request.invalid" } });
    expect(await retry(100_000)).toEqual({ type: "told" });
    expect(await drive()).toMatchObject({
      status: "completed",
      budget: { totalTokens: 100_000, reserved: { tokens: 0 } },
    });
    expect(model.ledger).toHaveLength(3);
    expect(asked).toBeGreaterThan(0);
  });
});

describe("whose failure it was", () => {
  test("a step's: it runs again under its key, those that completed don't", async () => {
    const keys: string[] = [];
    let broken = true;
    let before = 0;
    const { drive, retry } = await started(async (ctx) => {
      await ctx.step("before", async () => ++before);
      return await ctx.step(
        "flaky",
        async ({ idempotencyKey }) => {
          keys.push(idempotencyKey);
          if (broken) throw new Error("not yet");
          return "done";
        },
        { attempts: 1 },
      );
    }, outage().model);
    expect(await drive()).toMatchObject({ status: "failed", error: { code: "step.failed" } });
    broken = false;
    expect(await retry()).toBe("told");
    expect(await drive()).toMatchObject({ status: "completed", output: "done" });
    expect(before).toBe(1);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  test("two waves side by side, both failed: both go on", async () => {
    const { model, asked, mend } = outage("bad 1", "bad 2");
    const { drive, retry } = await started(
      async (ctx) => await Promise.all(["bad 1", "bad 2", "good"].map((i) => ctx.ask("r", i))),
      model,
    );
    expect(await drive()).toMatchObject({ status: "failed" });
    mend();
    expect(await retry()).toBe("told");
    expect(await drive()).toMatchObject({ status: "completed", output: ["<bad 1>", "<bad 2>", "<good>"] });
    expect(asked.filter((text) => text === "good").length).toBeLessThanOrEqual(2); // it may have been on its way when the run failed
  });

  test("a task of another wave, stopped when the run failed, goes on", async () => {
    let open = false;
    const asked: string[] = [];
    const model = createScriptedModel(async (request, _n, signal) => {
      const text = firstText(request);
      asked.push(text);
      if (open) return `<${text}>`;
      if (text === "bad") {
        await until(() => asked.includes("slow"));
        return { status: 401 };
      }
      return await new Promise<never>((_, reject) =>
        signal.addEventListener("abort", () => reject(new Error("stopped"))),
      );
    });
    const { drive, retry } = await started(
      async (ctx) => await Promise.all([ctx.ask("r", "bad"), ctx.ask("r", "slow")]),
      model,
    );
    expect(await drive()).toMatchObject({ status: "failed" });
    open = true;
    expect(await retry()).toBe("told");
    expect(await drive()).toMatchObject({ status: "completed", output: ["<bad>", "<slow>"] });
  });

  test("what the workflow did because of the failure is forgotten: the way it goes now is another one", async () => {
    const { model, mend } = outage("bad");
    const cleaned: string[] = [];
    const { drive, retry } = await started(async (ctx) => {
      try {
        return await ctx.ask("r", "bad");
      } catch (e) {
        await ctx.step("clean up", async ({ idempotencyKey }) => cleaned.push(idempotencyKey));
        throw e;
      }
    }, model);
    expect(await drive()).toMatchObject({ status: "failed" });
    expect(cleaned).toHaveLength(1);
    mend();
    expect(await retry()).toBe("told");
    expect(await drive()).toMatchObject({ status: "completed", output: "<bad>" });
    expect(cleaned).toHaveLength(1);
  });

  test("a failure that the workflow lived with stays one", async () => {
    const { model, asked, mend } = outage("bad", "last");
    const { drive, retry } = await started(async (ctx) => {
      const first = await ctx.ask("r", "bad").catch(() => "without it");
      return [first, await ctx.ask("r", "last")];
    }, model);
    expect(await drive()).toMatchObject({ status: "failed" });
    mend();
    expect(await retry()).toBe("told");
    expect(await drive()).toMatchObject({ status: "completed", output: ["without it", "<last>"] });
    expect(asked).toEqual(["bad", "last", "last"]);
  });

  test("as the cause of an error of the workflow's own", async () => {
    const { model, mend } = outage("bad");
    const { drive, retry } = await started(async (ctx) => {
      const said = await ctx.ask("r", "bad").catch(async (cause) => {
        await ctx.step("note", async () => 1);
        throw new Error("the first one failed", { cause });
      });
      return said;
    }, model);
    expect(await drive()).toMatchObject({ status: "failed", error: { code: "workflow.threw" } });
    mend();
    expect(await retry()).toBe("told");
    expect(await drive()).toMatchObject({ status: "completed", output: "<bad>" });
  });

  test("the code's own: the records are kept, and the edited code goes on with them", async () => {
    const { model, asked } = outage();
    const { drive, runId, stack } = await started(async (ctx) => {
      await ctx.ask("r", "first");
      throw new Error("a bug");
    }, model);
    expect(await drive()).toMatchObject({ status: "failed", error: { code: "workflow.threw" } });
    stack.stop();
    const mended: WorkflowFn = async (ctx) => [await ctx.ask<Json>("r", "first"), await ctx.ask<Json>("r", "second")];
    const next = rig(t.stack([role("r")], workflow(mended), { model, generation: 2 }), runId);
    expect(await next.retry()).toBe("told");
    expect(await next.drive()).toMatchObject({ status: "completed", output: ["<first>", "<second>"] });
    expect(asked).toEqual(["first", "second"]);
  });

  test("a wave's time-out begins anew", async () => {
    let open = false;
    const model = createScriptedModel(async (request) => {
      if (!open) return await new Promise<never>(() => {});
      return `<${firstText(request)}>`;
    });
    const { drive, retry } = await started(async (ctx) => await ctx.ask("r", "slow", { timeoutMs: 300 }), model);
    expect(await drive()).toMatchObject({ status: "failed", error: { code: "task.timeout" } });
    open = true;
    await new Promise((r) => setTimeout(r, 350));
    expect(await retry()).toBe("told");
    expect(await drive()).toMatchObject({ status: "completed", output: "<slow>" });
  });
});

describe("a session that failed", () => {
  test("goes on with its conversation", async () => {
    let broken = true;
    const model = createScriptedModel((request) =>
      request.messages.length > 1 && broken ? AUTH : `turn ${request.messages.length}`,
    );
    const stack = t.stack([role("main")], { kind: "session", role: "main" }, { model });
    const runId = await stack.start(AGENT, "hello");
    const { drive, retry } = rig(stack, runId);
    const say = (text: string, close = false) =>
      sendMessage(stack.deps, { agent: AGENT, runId, text, close, steer: false });
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "awaitingInput" });
    await say("and now?");
    expect(await drive()).toMatchObject({ status: "failed" });
    broken = false;
    expect(await retry()).toBe("told");
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "awaitingInput" });
    const { turns } = await stack.deps.store.tasks.turns(AGENT, runId, { before: null, limit: 10 });
    expect(turns.map((turn) => turn.text)).toEqual(["turn 3", "and now?", "turn 1"]);
    await say("bye", true);
    expect(await drive()).toMatchObject({ status: "completed" });
  });
});

describe("who may", () => {
  test("only failed runs are retried, and one retry of many goes through", async () => {
    const { model, mend } = outage("bad");
    const { drive, retry, runId, stack } = await started(async (ctx) => await ctx.ask("r", "bad"), model);
    expect(await retry()).toBe("run.not_failed");
    expect(await drive()).toMatchObject({ status: "failed" });
    mend();
    const told = await Promise.all(Array.from({ length: 8 }, () => retry()));
    expect(told.filter((what) => what === "told")).toHaveLength(1);
    expect(told.every((what) => what === "told" || what === "run.not_failed")).toBe(true);
    expect(await drive()).toMatchObject({ status: "completed" });
    expect(await retry()).toBe("run.not_failed");
    expect((await t.events(runId, "run")).filter((e) => e === "StreamInvalidated")).toHaveLength(1);
    expect(await retryRun(stack.deps, { agent: AGENT, runId: crypto.randomUUID(), by: "ann" })).toMatchObject({
      error: { code: "run.unknown" },
    });
  });

  test("a cancel of before the retry is void, one after it holds", async () => {
    const { model, mend } = outage("bad");
    const { drive, retry, runId, stack } = await started(async (ctx) => {
      const said = await ctx.ask("r", "bad");
      await ctx.sleep(3_600_000);
      return said;
    }, model);
    expect(await drive()).toMatchObject({ status: "failed" });
    // As one that came in the moment in which the run failed.
    await t.sql(
      `WITH s AS (UPDATE agent_${AGENT}.streams SET inbox_seq = inbox_seq + 1 WHERE run_id = $1 AND stream_id = 'run' RETURNING inbox_seq)
       INSERT INTO agent_${AGENT}.inbox (run_id, stream_id, seq, key, kind, payload)
       SELECT $1, 'run', inbox_seq, 'cancel', 'cancel', '{"kind": "cancel", "code": "run.cancelled", "reason": "late"}' FROM s`,
      [runId],
    );
    mend();
    expect(await retry()).toBe("told");
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "waitingTimer" });
    expect(await cancelRun(stack.deps, { agent: AGENT, runId, reason: "now" })).toEqual({ type: "told" });
    expect(await drive()).toMatchObject({ status: "cancelled" });
    expect(await retry()).toBe("run.not_failed");
  });

  test("not while its tasks are being stopped", async () => {
    const { model } = outage("bad");
    const { drive, retry, runId } = await started(async (ctx) => await ctx.ask("r", "bad"), model);
    await drive();
    await t.sql(
      `UPDATE agent_${AGENT}.streams SET status = 'ready', outcome = NULL WHERE run_id = $1 AND stream_id <> 'run'`,
      [runId],
    );
    expect(await retry()).toBe("run.stopping");
    await t.sql(`UPDATE agent_${AGENT}.streams SET status = 'ended', outcome = 'failed' WHERE run_id = $1`, [runId]);
    expect(await retry()).toBe("told");
  });
});
