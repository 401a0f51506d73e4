// The rules of runs and their workflows on the real engine: generations, storms, crash loops, held tasks, time-outs, ends. Over 300 lines: they share one rig.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { type ErrorCode, TorenError } from "../../shared/core/errors.ts";
import type { Json } from "../../shared/core/json.ts";
import type { WorkflowFn } from "../../shared/core/workflow/context.ts";
import { readRun } from "../../shared/engine/read-run.ts";
import { runTask } from "../../shared/engine/run-task.ts";
import { runTick } from "../../shared/engine/run-tick.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import { role, tool, workflow } from "../support/agents.ts";
import type { Stack } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest, firstText, until } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

const echo = () => createScriptedModel((r) => `<${firstText(r)}>`);
const die = (stack: Stack): void => {
  stack.fate.dead = true;
  stack.fate.onDeath();
};
const wake = (runId: string) =>
  t.sql(
    `UPDATE agent_${AGENT}.streams SET lease_until = least(lease_until, clock_timestamp()), wake_at = clock_timestamp() WHERE run_id = $1 AND status <> 'ended' AND wake_at IS NOT NULL`,
    [runId],
  );
const ALWAYS = { solo: false, remainingMs: () => Number.POSITIVE_INFINITY, stop: new AbortController().signal };
const SLEEPY: WorkflowFn = async (ctx) => {
  await ctx.sleep(3_600_000);
  return "woke";
};

describe("generations (I7)", () => {
  test("an older worker never takes, cuts or fails a stream that a newer one wrote; it sends the hint on, delayed", async () => {
    const model = echo();
    const newer = t.stack([role("r")], workflow(SLEEPY), { model, generation: 2 });
    const runId = await newer.start(AGENT, "x");
    await newer.drive({ agent: AGENT, runId });
    newer.stop();
    const before = await t.events(runId, "run");
    const older = t.stack(
      [role("r")],
      workflow(async () => "an older end"),
      { model, generation: 1 },
    );
    expect(await runTick(older.deps, { agent: AGENT, runId, taskId: null }, ALWAYS)).toBe("deferred");
    expect(await t.events(runId, "run")).toEqual(before);
    expect((await readRun(older.deps, { agent: AGENT, runId }))?.problem?.code).toBe("generation.older");
    const [hint] = await t.sql<{ later: boolean }>(
      "SELECT visible_at > clock_timestamp() + interval '10 s' AS later FROM toren_control.queue_messages WHERE body->>'runId' = $1 AND dedupe_key LIKE '%deferred'",
      [runId],
    );
    expect(hint?.later).toBe(true);
    older.stop();
  });

  test("an event of an unknown type is a newer version's: the stream is left alone", async () => {
    const stack = t.stack([role("r")], workflow(SLEEPY), { model: echo() });
    const runId = await stack.start(AGENT, "x");
    await stack.drive({ agent: AGENT, runId });
    await t.sql(
      `WITH s AS (UPDATE agent_${AGENT}.streams SET head_seq = head_seq + 1 WHERE run_id = $1 AND stream_id = 'run' RETURNING head_seq) INSERT INTO agent_${AGENT}.events (run_id, stream_id, seq, type, payload) SELECT $1, 'run', head_seq, 'TeleportRequested', '{}' FROM s`,
      [runId],
    );
    expect(await runTick(stack.deps, { agent: AGENT, runId, taskId: null }, ALWAYS)).toBe("deferred");
    expect((await t.events(runId, "run")).at(-1)).toBe("TeleportRequested");
    stack.stop();
  });
});

describe("a cut storm (I7)", () => {
  test("three cuts by one generation, then it stands back and names what differs", async () => {
    let unstable = 0;
    const restless: WorkflowFn = async (ctx) => {
      await ctx.ask("r", `at ${unstable++}`);
      await ctx.sleep(3_600_000);
      return "never";
    };
    const model = echo();
    const stack = t.stack([role("r")], workflow(restless), { model });
    const runId = await stack.start(AGENT, "x");
    await stack.drive({ agent: AGENT, runId }, { timeoutMs: 15_000 });
    const cuts = (await t.events(runId, "run")).filter((e) => e === "StreamInvalidated");
    expect(cuts).toHaveLength(3);
    expect((await readRun(stack.deps, { agent: AGENT, runId }))?.reason).toMatch(/cut\.storm.*WavePlanned/);
    stack.stop();
  });
});

describe("crash loops", () => {
  test("a task whose worker dies three times runs alone, and after three deaths alone it fails with crash_loop", async () => {
    const model = createScriptedModel(() => new Promise(() => {}));
    const roles = [role("main")];
    const main = { kind: "role", role: "main" } as const;
    const first = t.stack(roles, main, { model });
    const runId = await first.start(AGENT, "x");
    await runTick(first.deps, { agent: AGENT, runId, taskId: null }, ALWAYS);
    first.stop();
    const hint = { agent: AGENT, runId, taskId: "w0t0" };
    const dieOnce = async (solo: boolean): Promise<void> => {
      const stack = t.stack(roles, main, { model });
      const asked = model.ledger.length;
      void runTask(stack.deps, hint, { ...ALWAYS, solo });
      await until(() => model.ledger.length > asked);
      die(stack);
      await wake(runId);
    };
    for (let i = 0; i < 3; i++) await dieOnce(false);
    const fourth = t.stack(roles, main, { model });
    expect(await runTask(fourth.deps, hint, ALWAYS)).toBe("deferred");
    const solo = await t.sql(
      "SELECT 1 FROM toren_control.queue_messages WHERE queue = 'tasks-solo' AND body->>'runId' = $1",
      [runId],
    );
    expect(solo).toHaveLength(1);
    for (let i = 0; i < 3; i++) await dieOnce(true);
    expect(await runTask(fourth.deps, hint, { ...ALWAYS, solo: true })).toBe("ended");
    fourth.stop();
    expect(await t.payloads(runId, "TaskFailed")).toMatchObject([{ error: { code: "crash_loop" } }]);
  });

  test("what fails this invocation alone is no death: a schema that isn't migrated yet, a queue that is away", async () => {
    const asking: WorkflowFn = async (ctx) => await ctx.ask("r", "x");
    const stack = t.stack([role("r")], workflow(asking), { model: echo() });
    const runId = await stack.start(AGENT, "x");
    const { store, queue } = stack.deps;
    const fail = (code: ErrorCode) => () => Promise.reject(new TorenError(code, "not now"));
    const streams = { ...store.streams, read: fail("schema.older") };
    const early = { ...stack.deps, store: { ...store, streams } };
    const mute = { ...stack.deps, queue: { ...queue, send: fail("queue.unavailable") } };
    for (const [deps, code] of [
      [early, "schema.older"],
      [mute, "queue.unavailable"],
    ] as const) {
      await expect(runTick(deps, { agent: AGENT, runId, taskId: null }, ALWAYS)).rejects.toMatchObject({ code });
      expect(
        await t.sql(`SELECT attempts FROM agent_${AGENT}.streams WHERE run_id = $1 AND stream_id = 'run'`, [runId]),
      ).toEqual([{ attempts: 0 }]);
    }
    stack.stop();
  });

  test("progress starts the count anew", async () => {
    const { runId } = await t.run(
      [role("r", { tools: [tool("look", () => 1)] })],
      { kind: "role", role: "r" },
      createScriptedModel((_, n) => (n < 2 ? { tools: [{ name: "look", args: {} }] } : "done")),
    );
    const [row] = await t.sql<{ attempts: number }>(
      `SELECT attempts FROM agent_${AGENT}.streams WHERE run_id = $1 AND stream_id = 'task:w0t0'`,
      [runId],
    );
    expect(row?.attempts).toBe(0);
  });
});

describe("plans that were cut", () => {
  const inputs =
    (list: readonly string[], front: boolean): WorkflowFn =>
    async (ctx) => {
      if (front) await ctx.ask("r", "front");
      const { results } = await ctx.wave(
        "w",
        list.map((i) => ctx.task("r", i)),
      );
      return results.map((r) => r.output as Json);
    };

  test("a task that no plan claims yet is held, claimed by a later plan, and never paid twice", async () => {
    let open = false;
    const asked: string[] = [];
    const model = createScriptedModel(async (r) => {
      asked.push(firstText(r));
      if (firstText(r) === "slow" && r.messages.length === 1) {
        await until(() => open);
        return { tools: [{ name: "look", args: {} }] };
      }
      return `<${firstText(r)}>`;
    });
    const roles = [role("r", { tools: [tool("look", () => 1)] })];
    const one = t.stack(roles, workflow(inputs(["slow", "quick"], false)), { model });
    const runId = await one.start(AGENT, "x");
    const working = one.drive({ agent: AGENT, runId });
    await until(() => asked.length === 2);
    const two = t.stack(roles, workflow(inputs(["slow", "quick"], true)), { model, generation: 2 });
    one.stop(); // takes no more hints: an older worker would put off what it gets of this run, for 20 s
    await working;
    // The new code ticks while the old worker's task is still in its call: the plan is cut, `slow` is nobody's for now.
    await until(async () => (await two.deps.store.tasks.open(AGENT, runId)).length === 1);
    await runTick(two.deps, { agent: AGENT, runId, taskId: null }, ALWAYS);
    open = true;
    await until(() => one.worked.includes("handedOver"));
    expect(await runTask(two.deps, { agent: AGENT, runId, taskId: "w0t0" }, ALWAYS)).toBe("parked");
    expect(await two.deps.store.tasks.open(AGENT, runId)).toContainEqual({ taskId: "w0t0", wait: "claim" });
    expect(await two.drive({ agent: AGENT, runId })).toMatchObject({
      status: "completed",
      output: ["<slow>", "<quick>"],
    });
    expect(asked.sort()).toEqual(["front", "quick", "slow", "slow"]);
    expect((await t.events(runId, "run")).filter((e) => e === "StreamInvalidated")).toHaveLength(1);
  });

  test("I6b: dropping a task that mailed somebody waits for a decision; with the old code it goes on", async () => {
    const mail = tool("mail", () => "sent", { effects: "external" });
    const roles = [role("r", { tools: [mail] })];
    const model = createScriptedModel((r) =>
      r.messages.length === 1 ? { tools: [{ name: "mail", args: {} }] } : `<${firstText(r)}>`,
    );
    const then =
      (input: string): WorkflowFn =>
      async (ctx) => {
        const said = await ctx.ask("r", input);
        await ctx.sleep(3_600_000);
        return said;
      };
    const one = t.stack(roles, workflow(then("to Ann")), { model });
    const runId = await one.start(AGENT, "x");
    expect(await one.drive({ agent: AGENT, runId })).toMatchObject({ status: "waitingTimer" });
    one.stop();
    const hint = { agent: AGENT, runId, taskId: null };
    const two = t.stack(roles, workflow(then("to Bob")), { model, generation: 2 });
    expect(await runTick(two.deps, hint, ALWAYS)).toBe("parked");
    expect((await two.deps.store.runs.get(AGENT, runId))?.status).toBe("waitingCut");
    expect(await t.payloads(runId, "CutRequested")).toMatchObject([
      { calls: ["w0t0: mail"], price: { modelCalls: 2, usd: expect.any(Number), simulated: true } },
    ]);
    expect((await readRun(two.deps, { agent: AGENT, runId }))?.reason).toMatch(
      /^run: cut\.needs_decision: .*\(w0t0: mail\), and 2 model answers for simulated \$\d.*toren jobs resume/,
    );
    expect(await runTick(two.deps, hint, ALWAYS)).toBe("parked");
    expect(await t.payloads(runId, "CutRequested")).toHaveLength(1);
    const three = t.stack(roles, workflow(then("to Ann")), { model, generation: 3 });
    expect(await runTick(three.deps, hint, ALWAYS)).toBe("parked");
    expect((await three.deps.store.runs.get(AGENT, runId))?.status).toBe("waitingTimer");
    expect(model.ledger).toHaveLength(2);
  });
});

describe("a repeated request", () => {
  test("gets the run of then, though today's code would refuse it", async () => {
    const request = { agent: AGENT, input: "x", idempotencyKey: "once" };
    const before = t.stack(
      [role("r")],
      workflow(async () => "x"),
      { model: echo() },
    );
    const started = await startRun(before.deps, request);
    const strict = {
      ...workflow(async () => "x"),
      parseInput: () => ({ ok: false, message: "numbers only" }) as const,
    };
    const after = t.stack([role("r")], strict, { model: echo(), generation: 2 });
    expect(await startRun(after.deps, request)).toEqual({ ...started, type: "existing" });
    expect(await startRun(after.deps, { ...request, input: "y" })).toMatchObject({
      error: { code: "idempotency.conflict" },
    });
    expect(await startRun(after.deps, { ...request, idempotencyKey: "twice" })).toMatchObject({
      error: { code: "workflow.bad_input" },
    });
  });
});

describe("time and ends", () => {
  test("a wave's time-out fails what is open with task.timeout, and tells it to stop", async () => {
    const model = createScriptedModel((r) => (firstText(r) === "slow" ? new Promise(() => {}) : "quick"));
    const main = workflow(async (ctx) => {
      const { results } = await ctx.wave("w", [ctx.task("r", "slow"), ctx.task("r", "quick")], {
        onTaskFailure: "collect",
        timeoutMs: 150,
      });
      return results.map((r) => r.error?.split(":")[0] ?? (r.output as string));
    });
    const { row, runId } = await t.run([role("r")], main, model);
    expect(row).toMatchObject({ status: "completed", output: ["task.timeout", "quick"] });
    await until(async () => (await t.payloads(runId, "TaskCancelled")).length === 1);
  });
  test("a run that ends cancels what is unsettled, race losers included", async () => {
    const model = createScriptedModel((r) => (firstText(r) === "loser" ? new Promise(() => {}) : "won"));
    const main = workflow(async (ctx) => await Promise.race([ctx.ask("r", "winner"), ctx.ask("r", "loser")]));
    const { row, runId, stack } = await t.run([role("r")], main, model);
    expect(row).toMatchObject({ status: "completed", output: "won" });
    await until(async () => (await stack.deps.store.tasks.open(AGENT, runId)).length === 0);
  });
  test.each([
    [
      "throws",
      async () => {
        throw new Error("out of luck");
      },
      "workflow.threw",
    ],
    [
      "awaits what isn't ctx",
      async () => {
        await new Promise((r) => setTimeout(r, 1));
        return 1;
      },
      "workflow.foreign_await",
    ],
    ["returns what isn't JSON", async () => 1n as unknown as Json, "workflow.not_json"],
    [
      "never stops asking the time",
      async (ctx: Parameters<WorkflowFn>[0]) => {
        for (;;) await ctx.now();
      },
      "workflow.too_many_operations",
    ],
  ] as [string, WorkflowFn, string][])("a workflow that %s fails with its code", async (_, run, code) => {
    const { row } = await t.run([role("r")], workflow(run as WorkflowFn<never>), echo());
    expect(row).toMatchObject({ status: "failed", error: { code } });
  });
  test("c11: what a step returns is what a replay reads, whatever happens to the object afterwards", async () => {
    const kept: { when: Date; list: number[] } = { when: new Date(0), list: [-0, Number.NaN] };
    const main = workflow(async (ctx) => {
      const seen = await ctx.step("s", async () => kept);
      kept.list.push(7);
      return seen as unknown as Json;
    });
    expect((await t.run([role("r")], main, echo())).row?.output).toEqual({
      list: [0, null],
      when: "1970-01-01T00:00:00.000Z",
    });
    const bad = await t.run(
      [role("r")],
      workflow(async (ctx) => await ctx.step("s", async () => ({ a: [1n] }) as unknown as Json)),
      echo(),
    );
    expect(bad.row?.error?.message).toContain("$.a[0]");
  });
});
