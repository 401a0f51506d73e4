// Over 300 lines: every place of a fork, of one kind of run after the other. A run that begins with another one's log: what is copied is replayed and free, what isn't is done again, under keys of its own.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { fate } from "../../local/testing/mortal.ts";
import { createScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import type { Json } from "../../shared/core/json.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import type { WorkflowFn } from "../../shared/core/workflow/context.ts";
import { type Forked, forkRun } from "../../shared/engine/fork-run.ts";
import { readRun } from "../../shared/engine/read-run.ts";
import { sendMessage } from "../../shared/engine/speak-to-task.ts";
import { role, tool, workflow } from "../support/agents.ts";
import type { Stack } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest, firstText, resetChecked, until } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(() => resetChecked(t));
afterAll(async () => await t.close());

const asked: string[] = [];
const echo = () => {
  asked.length = 0;
  return createScriptedModel((request) => {
    asked.push(firstText(request));
    return `<${firstText(request)}>`;
  });
};
const fork = (
  stack: Stack,
  runId: string,
  from?: string,
  more: Partial<{ rerun: boolean; idempotencyKey: string }> = {},
): Promise<Forked> =>
  forkRun(stack.deps, {
    agent: AGENT,
    runId,
    rerun: false,
    by: "ann",
    ...(from === undefined ? {} : { from }),
    ...more,
  });
async function forked(stack: Stack, runId: string, from?: string, rerun = false): Promise<string> {
  const made = await fork(stack, runId, from, { rerun });
  if (made.type === "refused") throw new Error(made.error.message);
  return made.runId;
}

const THREE: WorkflowFn = async (ctx) => {
  const first = await ctx.ask<string>("r", "plan");
  const { results } = await ctx.wave(
    "dig",
    ["a", "b", "c"].map((i) => ctx.task("r", `${i} of ${first}`)),
  );
  return await ctx.ask<Json>("w", results.map((r) => r.output ?? null).join(" "));
};
const ROLES = [role("r"), role("w")];

describe("of a run that completed", () => {
  test("everything is free, and the code as it is now says what comes of it", async () => {
    const model = echo();
    const one = t.stack(ROLES, workflow(THREE), { model });
    const source = await one.start(AGENT, "x");
    const row = await one.drive({ agent: AGENT, runId: source });
    expect(asked).toHaveLength(5);
    one.stop();
    const two = t.stack(
      ROLES,
      workflow<string>(async (ctx) => ({ said: await THREE(ctx) })),
      { model, generation: 2 },
    );
    const runId = await forked(two, source);
    expect(await two.drive({ agent: AGENT, runId })).toMatchObject({
      status: "completed",
      output: { said: row?.output },
      forkedFrom: source,
    });
    expect(asked).toHaveLength(5);
    const view = await readRun(two.deps, { agent: AGENT, runId });
    expect(view).toMatchObject({ costUsd: 0, receipt: { modelCalls: 0, replayed: 5, repaid: 0 } });
    expect((await readRun(two.deps, { agent: AGENT, runId: source }))?.run).toEqual(row);
  });

  test("from a task: it is asked anew, its siblings aren't, and what follows is", async () => {
    const model = echo();
    const stack = t.stack(ROLES, workflow(THREE), { model });
    const source = await stack.start(AGENT, "x");
    await stack.drive({ agent: AGENT, runId: source });
    asked.length = 0;
    const runId = await forked(stack, source, "w1t1");
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed" });
    expect(asked).toEqual(["b of <plan>", "<a of <plan>> <b of <plan>> <c of <plan>>"]);
    const view = await readRun(stack.deps, { agent: AGENT, runId });
    expect(view).toMatchObject({ receipt: { modelCalls: 2, replayed: 3 } });
  });

  test("from a wave, from the last task, and from places that there aren't", async () => {
    const model = echo();
    const stack = t.stack(ROLES, workflow(THREE), { model });
    const source = await stack.start(AGENT, "x");
    await stack.drive({ agent: AGENT, runId: source });
    for (const [from, calls] of [
      ["w0", 5],
      ["w1", 4],
      ["w2t0", 1],
    ] as const) {
      asked.length = 0;
      const runId = await forked(stack, source, from);
      expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed" });
      expect([from, asked.length]).toEqual([from, calls]);
    }
    for (const from of ["w7", "w1t9", "w1t0/s4", "step:none", "", "w1; DROP TABLE"])
      expect(await fork(stack, source, from)).toMatchObject({ type: "refused", error: { code: "fork.unknown_place" } });
    expect(await fork(stack, crypto.randomUUID())).toMatchObject({ error: { code: "run.unknown" } });
  });

  test("under a new prompt only what the fork asks anew has it", async () => {
    const model = createScriptedModel((request) => `${request.system} <${firstText(request)}>`);
    const one = t.stack(ROLES, workflow(THREE), { model });
    const source = await one.start(AGENT, "x");
    await one.drive({ agent: AGENT, runId: source });
    one.stop();
    const two = t.stack([role("r"), role("w", { system: "Rhyme." })], workflow(THREE), { model, generation: 2 });
    const runId = await forked(two, source, "w2");
    const row = await two.drive({ agent: AGENT, runId });
    expect(row?.output).toMatch(/^Rhyme\. <You are the r\./);
    expect(model.ledger).toHaveLength(6);
  });
});

describe("of a task with tools", () => {
  const steps = (request: ModelRequest): Turn => {
    const n = (request.messages.length - 1) / 2;
    return n < 3 ? { tools: [{ name: n === 1 ? "charge" : "look", args: { n } }] } : "done";
  };

  test("from one of its steps: what stands before is free; effects that would come again are named, and have new keys", async () => {
    const keys: string[] = [];
    const charge = tool("charge", (_, ctx) => keys.push(ctx.idempotencyKey), {
      effects: "external",
      idempotency: "keyed",
    });
    const model = createScriptedModel(steps);
    const stack = t.stack(
      [role("r", { tools: [charge, tool("look", () => 1)] })],
      { kind: "role", role: "r" },
      { model },
    );
    const source = await stack.start(AGENT, "x");
    await stack.drive({ agent: AGENT, runId: source });
    expect(model.ledger).toHaveLength(4);
    const late = await forked(stack, source, "w0t0/s2");
    expect(await stack.drive({ agent: AGENT, runId: late })).toMatchObject({ status: "completed", output: "done" });
    expect([model.ledger.length, keys.length]).toEqual([6, 1]);
    expect(await readRun(stack.deps, { agent: AGENT, runId: late })).toMatchObject({
      receipt: { modelCalls: 2, replayed: 2, repaid: 0 },
    });
    expect(await fork(stack, source, "w0t0/s1")).toMatchObject({
      error: { code: "fork.repeats", message: expect.stringContaining("w0t0: charge") },
    });
    const again = await forked(stack, source, "w0t0/s1", true);
    expect(await stack.drive({ agent: AGENT, runId: again })).toMatchObject({ status: "completed" });
    expect([keys.length, new Set(keys).size]).toEqual([2, 2]);
  });

  test("a call that was under way is made by the fork under a key of its own", async () => {
    const keys: string[] = [];
    const hand = fate();
    const charge = tool(
      "charge",
      (_, ctx) => {
        keys.push(ctx.idempotencyKey);
        if (keys.length > 1) return 1;
        hand.dead = true;
        hand.onDeath();
        return new Promise(() => {});
      },
      { effects: "external", idempotency: "keyed" },
    );
    const roles = [role("r", { tools: [charge] })];
    const model = createScriptedModel((request) =>
      request.messages.length === 1 ? { tools: [{ name: "charge", args: {} }] } : "done",
    );
    const dies = t.stack(roles, { kind: "role", role: "r" }, { model, fate: hand });
    const source = await dies.start(AGENT, "x");
    await dies.drive({ agent: AGENT, runId: source });
    const stack = t.stack(roles, { kind: "role", role: "r" }, { model });
    const id = await forked(stack, source, undefined, true);
    expect(await stack.drive({ agent: AGENT, runId: id })).toMatchObject({ status: "completed", output: "done" });
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys.length).toBeGreaterThan(1);
  });

  test("a step of the workflow is an effect too, and is done again under a new key", async () => {
    const keys: string[] = [];
    const stack = t.stack(
      ROLES,
      workflow(async (ctx) => {
        await ctx.ask("r", "first");
        await ctx.step("publish", async ({ idempotencyKey }) => keys.push(idempotencyKey));
        return await ctx.ask("r", "last");
      }),
      { model: echo() },
    );
    const source = await stack.start(AGENT, "x");
    await stack.drive({ agent: AGENT, runId: source });
    expect(await fork(stack, source, "w0")).toMatchObject({
      error: { code: "fork.repeats", message: expect.stringContaining("step publish") },
    });
    const free = await forked(stack, source, "w1");
    await stack.drive({ agent: AGENT, runId: free });
    expect(keys).toHaveLength(1);
    const again = await forked(stack, source, "step:publish", true);
    expect(await stack.drive({ agent: AGENT, runId: again })).toMatchObject({ status: "completed" });
    expect([keys.length, new Set(keys).size]).toEqual([2, 2]);
    expect(asked).toEqual(["first", "last", "last", "last"]);
  });
});

describe("of a run that isn't over, or went wrong", () => {
  test("a failed one: what failed is done again, as by a retry, and the source stays failed", async () => {
    let broken = true;
    const model = createScriptedModel((request) => {
      const text = firstText(request);
      return text.startsWith("b") && broken ? { status: 401 } : `<${text}>`;
    });
    const stack = t.stack(ROLES, workflow(THREE), { model });
    const source = await stack.start(AGENT, "x");
    expect(await stack.drive({ agent: AGENT, runId: source })).toMatchObject({ status: "failed" });
    broken = false;
    const runId = await forked(stack, source);
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed" });
    expect((await stack.deps.store.runs.get(AGENT, source))?.status).toBe("failed");
    expect(model.ledger.filter(({ request }) => firstText(request) === "plan")).toHaveLength(1);
  });

  test("one that sleeps: both go on, each by itself", async () => {
    const stack = t.stack(
      ROLES,
      workflow(async (ctx) => {
        const said = await ctx.ask("r", "first");
        await ctx.sleep(400);
        return said;
      }),
      { model: echo() },
    );
    const source = await stack.start(AGENT, "x");
    const driven = stack.drive({ agent: AGENT, runId: source });
    while ((await stack.deps.store.runs.get(AGENT, source))?.status !== "waitingTimer")
      await new Promise((r) => setTimeout(r, 5));
    const runId = await forked(stack, source);
    expect(await driven).toMatchObject({ status: "completed", output: "<first>" });
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed", output: "<first>" });
    expect(asked).toEqual(["first"]);
  });

  test("a session: the conversation goes on twice", async () => {
    const model = createScriptedModel((request) => `turn ${(request.messages.length + 1) / 2}`);
    const stack = t.stack([role("main")], { kind: "session", role: "main" }, { model });
    const source = await stack.start(AGENT, "hello");
    await stack.drive({ agent: AGENT, runId: source });
    const say = async (runId: string, text: string) => {
      await sendMessage(stack.deps, { agent: AGENT, runId, text, close: false, steer: false });
      await stack.drive({ agent: AGENT, runId });
      return (await stack.deps.store.tasks.turns(AGENT, runId, { before: null, limit: 9 })).turns.map(
        (turn) => turn.text,
      );
    };
    const runId = await forked(stack, source);
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "awaitingInput" });
    expect(await say(runId, "left")).toEqual(["turn 2", "left", "turn 1"]);
    expect(await say(source, "right")).toEqual(["turn 2", "right", "turn 1"]);
    const earlier = await forked(stack, source, "w0t0/s1"); // before the answer to `right`
    await stack.drive({ agent: AGENT, runId: earlier });
    expect((await stack.deps.store.tasks.turns(AGENT, earlier, { before: null, limit: 9 })).turns[0]?.text).toBe(
      "turn 2",
    );
    expect(model.ledger).toHaveLength(4);
  });
});

test("a fork whose reply is lost, and one whose worker dies at once, are there all the same, whole", async () => {
  const model = echo();
  const stack = t.stack(ROLES, workflow(THREE), { model });
  const source = await stack.start(AGENT, "x");
  await stack.drive({ agent: AGENT, runId: source });
  const unheard = t.stack(ROLES, workflow(THREE), { model, fate: fate(1, "loseReply") });
  const runId = await forked(unheard, source, "w2");
  expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed" });
  const dying = t.stack(ROLES, workflow(THREE), { model, fate: fate(1, "kill") });
  void fork(dying, source, "w2", { idempotencyKey: "dying" });
  await until(() => dying.fate.dead);
  const again = await fork(stack, source, "w2", { idempotencyKey: "dying" });
  expect(again).toMatchObject({ type: "existing" });
  expect(await stack.drive({ agent: AGENT, runId: again.type === "existing" ? again.runId : "" })).toMatchObject({
    status: "completed",
  });
  expect(asked).toHaveLength(7);
});

test("under one key a request forks once", async () => {
  const stack = t.stack(ROLES, workflow(THREE), { model: echo() });
  const source = await stack.start(AGENT, "x");
  await stack.drive({ agent: AGENT, runId: source });
  const [one, two] = await Promise.all([
    fork(stack, source, "w2", { idempotencyKey: "k" }),
    fork(stack, source, "w2", { idempotencyKey: "k" }),
  ]);
  expect([one.type, two.type].sort()).toEqual(["existing", "started"]);
  expect(await fork(stack, source, "w1", { idempotencyKey: "k" })).toMatchObject({
    error: { code: "idempotency.conflict" },
  });
  await stack.drive({ agent: AGENT, runId: one.type === "refused" ? "" : one.runId });
});
