// Kinds of workers: a task goes where its role, or the length of its steps, wants it; the guardian finds it there too.
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { STEP_WHOLE_MS } from "../../shared/core/limits.ts";
import { guard } from "../../shared/engine/guard.ts";
import { runTask } from "../../shared/engine/run-task.ts";
import { runTick } from "../../shared/engine/run-tick.ts";
import type { Lane } from "../../shared/ports/agents.ts";
import { role, tool, workflow } from "../support/agents.ts";
import type { Stack } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

const asks = workflow(async (ctx) => await ctx.ask("digger", "dig"));
const answers = createScriptedModel(() => "found");
/** A worker that is cut off, as a deployed function; and one that isn't. */
const cutOff = (deadline = new AbortController().signal, solo = false) => ({ ...free(solo), deadline });
const free = (solo = false) => ({
  solo,
  remainingMs: () => Number.POSITIVE_INFINITY,
  stop: new AbortController().signal,
});
const waiting = async (): Promise<string[]> =>
  (
    await t.sql<{ queue: string }>(
      "SELECT queue FROM toren_control.queue_messages WHERE body->>'taskId' IS NOT NULL ORDER BY id",
    )
  ).map((row) => row.queue);
const forget = () => t.sql("DELETE FROM toren_control.queue_messages");

/** A run whose task `w0t0` is dispatched. */
async function dispatched(stack: Stack) {
  const runId = await stack.start(AGENT, "x");
  expect(await runTick(stack.deps, { agent: AGENT, runId, taskId: null }, cutOff())).toBe("parked");
  return { agent: AGENT, runId, taskId: "w0t0" };
}
const stackWith = (lane?: Lane, more: Parameters<typeof role>[1] = {}) =>
  t.stack([role("digger", { ...(lane === undefined ? {} : { lane }), ...more })], asks, { model: answers });

describe("a task is dispatched to the queue of its role's kind of worker", () => {
  test.each<[Lane | undefined, string]>([
    [undefined, "tasks-short"],
    ["long", "tasks-long"],
    ["solo", "tasks-solo"],
  ])("%s: %s", async (lane, queue) => {
    await dispatched(stackWith(lane));
    expect(await waiting()).toEqual([queue]);
  });

  test("and the guardian sends it there again", async () => {
    const stack = stackWith("long");
    const { runId } = await dispatched(stack);
    await forget();
    await t.sql(`UPDATE agent_${AGENT}.streams SET wake_at = clock_timestamp() WHERE run_id = $1`, [runId]);
    await guard(stack.deps);
    expect(await waiting()).toContain("tasks-long");
    expect(await waiting()).not.toContain("tasks-short");
  });
});

describe("a worker of another kind that gets it sends it on", () => {
  test("a long one, where workers are cut off; nothing is written", async () => {
    const stack = stackWith("long");
    const hint = await dispatched(stack);
    await forget();
    expect(await runTask(stack.deps, hint, cutOff())).toBe("deferred");
    expect(await waiting()).toEqual(["tasks-long"]);
    expect(await t.events(hint.runId, "task:w0t0")).toEqual([]);
    expect(await runTask(stack.deps, hint, free())).toBe("ended");
  });

  test("one that is to run alone, wherever it is", async () => {
    const stack = stackWith("solo");
    const hint = await dispatched(stack);
    await forget();
    expect(await runTask(stack.deps, hint, free())).toBe("deferred");
    expect(await waiting()).toEqual(["tasks-solo"]);
    expect(await runTask(stack.deps, hint, free(true))).toBe("ended");
  });

  test("but not one that runs alone because it crashes", async () => {
    const stack = stackWith("long");
    const hint = await dispatched(stack);
    expect(await runTask(stack.deps, hint, cutOff(undefined, true))).toBe("ended");
  });
});

describe("a step that is under way when its worker is about to be cut off", () => {
  test("of a model: is given up, and the task goes on in a worker that isn't cut off, with nothing paid twice on record", async () => {
    const deadline = new AbortController();
    let asked = 0;
    const slow = createScriptedModel(async (_, __, signal) => {
      if (++asked === 1) {
        setTimeout(() => deadline.abort(), 50);
        await wait(60_000, undefined, { signal }).catch(() => {});
      }
      return "found";
    });
    const stack = t.stack([role("digger")], asks, { model: slow });
    const hint = await dispatched(stack);
    await forget();
    const at = { ...cutOff(deadline.signal), remainingMs: () => (deadline.signal.aborted ? 10_000 : 600_000) };
    expect(await runTask(stack.deps, hint, at)).toBe("handedOver");
    expect(await waiting()).toEqual(["tasks-long"]);
    expect(stack.deps.keeper.size).toBe(0);
    const [row] = await t.sql<{ status: string; s: number }>(
      `SELECT status, extract(epoch FROM wake_at - clock_timestamp())::float8 AS s FROM agent_${AGENT}.streams WHERE run_id = $1 AND stream_id = 'task:w0t0'`,
      [hint.runId],
    );
    expect(row?.status).toBe("ready");
    expect(row?.s).toBeGreaterThan(60); // a worker may have to be started first
    expect(await runTask(stack.deps, hint, free())).toBe("ended");
    expect(await t.events(hint.runId, "task:w0t0")).toEqual([
      "TaskStarted",
      "LlmCallStarted",
      "TaskStarted",
      "LlmCallStarted",
      "LlmCallCompleted",
      "TaskCompleted",
    ]);
  });

  describe("where nobody may take it who isn't cut off", () => {
    /** A question that outlasts every deadline; how long this worker had when it was asked, and where it runs. */
    async function asked(hadMs: number, { solo = false, longLane = true }) {
      const deadline = new AbortController();
      const slow = createScriptedModel(async (_, __, signal) => {
        setTimeout(() => deadline.abort(), 50);
        await wait(60_000, undefined, { signal }).catch(() => {});
        return "found";
      });
      const stack = t.stack([role("digger")], asks, { model: slow });
      const deps = { ...stack.deps, longLane };
      const hint = await dispatched(stack);
      await forget();
      const remainingMs = () => (deadline.signal.aborted ? 10_000 : hadMs);
      const worked = await runTask(deps, hint, { ...cutOff(deadline.signal, solo), remainingMs });
      return { worked, waiting: await waiting(), types: await t.events(hint.runId, "task:w0t0") };
    }

    test.each([
      ["no such worker is there", { longLane: false }],
      ["it is to run alone", { solo: true }],
    ])("%s: a step that had a whole invocation ends the task, and isn't paid again and again", async (_, where) => {
      const { worked, waiting: queues, types } = await asked(STEP_WHOLE_MS, where);
      expect([worked, queues]).toEqual(["ended", []]);
      expect(types).toEqual(["TaskStarted", "LlmCallStarted", "TaskFailed"]);
      const [row] = await t.sql<{ code: string }>(
        `SELECT payload->'error'->>'code' AS code FROM agent_${AGENT}.events WHERE type = 'TaskFailed'`,
      );
      expect(row?.code).toBe("task.step_too_long");
    });

    test.each([
      ["tasks-short", { longLane: false }],
      ["tasks-solo", { solo: true }],
    ])("a step that began late is begun anew in the next invocation, from %s", async (queue, where) => {
      const { worked, waiting: queues, types } = await asked(STEP_WHOLE_MS - 1, where);
      expect([worked, queues]).toEqual(["handedOver", [queue]]);
      expect(types).not.toContain("TaskFailed");
    });
  });

  test("of a tool: its signal is aborted, and it runs again with the same key", async () => {
    const deadline = new AbortController();
    const keys: string[] = [];
    const dig = tool(
      "dig",
      async (_, ctx) => {
        keys.push(ctx.idempotencyKey);
        if (keys.length === 1) {
          setTimeout(() => deadline.abort(), 50);
          await wait(60_000, undefined, { signal: ctx.signal });
        }
        return "dug";
      },
      { effects: "external", idempotency: "keyed" },
    );
    const model = createScriptedModel((request) =>
      request.messages.length > 1 ? "found" : { tools: [{ name: "dig", args: {} }] },
    );
    const stack = t.stack([role("digger", { tools: [dig] })], asks, { model });
    const hint = await dispatched(stack);
    await forget();
    const at = { ...cutOff(deadline.signal), remainingMs: () => (deadline.signal.aborted ? 10_000 : 600_000) };
    expect(await runTask(stack.deps, hint, at)).toBe("handedOver");
    expect(await waiting()).toEqual(["tasks-long"]);
    expect(await runTask(stack.deps, hint, free())).toBe("ended");
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });
});
