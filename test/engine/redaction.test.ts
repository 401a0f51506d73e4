// What an author's redaction takes out of what comes from outside: it is never in the database, no model sees it, and replays find what they recorded.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { fate } from "../../local/testing/mortal.ts";
import { cronTimes } from "../../shared/adapters/cron/croner.ts";
import { createScriptedModel, type ScriptedModel } from "../../shared/adapters/model/script.ts";
import { createSchedules } from "../../shared/adapters/store/schedules.ts";
import { defineRedaction, redactionOf, redactTexts } from "../../shared/authoring/redaction.ts";
import type { Json } from "../../shared/core/json.ts";
import { cancelRun } from "../../shared/engine/cancel-run.ts";
import { fireSchedules } from "../../shared/engine/fire-schedules.ts";
import { readRun } from "../../shared/engine/read-run.ts";
import { createSchedule } from "../../shared/engine/schedules.ts";
import { decideApproval, sendMessage, sendSignal } from "../../shared/engine/speak-to-task.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import type { ProcessDefinition, RedactFn, RoleDefinition } from "../../shared/ports/agents.ts";
import { agent, role, serving, tool, workflow } from "../support/agents.ts";
import { createStack, passTime, type Stack, type StackOptions } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest } from "./support.ts";

let t: EngineTest;
const stacks: Stack[] = [];
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => {
  for (const stack of stacks.splice(0)) stack.stop();
  await t.reset();
  await t.sql("DELETE FROM toren_control.schedules");
});
afterAll(async () => await t.close());

const SECRET = "ann@example.com";
const MAIL = /[\w.]+@[\w.]+\.\w+/g;
const mails: RedactFn = redactionOf(
  defineRedaction((value) => redactTexts(value, (text) => text.replaceAll(MAIL, "[mail]"))),
);

interface Made extends Partial<StackOptions> {
  readonly redact?: RedactFn;
  readonly generation?: number;
}
function stackOf(
  roles: readonly RoleDefinition[],
  main: ProcessDefinition,
  model: ScriptedModel,
  { redact = mails, generation, ...more }: Made = {},
): Stack {
  const agents = serving({ ...agent(AGENT, roles, main), redact }, generation);
  const stack = createStack({ database: t.database, agents, model, ...more });
  stacks.push(stack);
  return stack;
}

/** Tables with a row that holds the text, in whatever column, large values included. */
async function whereIs(text: string): Promise<string[]> {
  const tables = await t.sql<{ name: string }>(
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
     WHERE table_schema IN ('toren_control', 'agent_${AGENT}') AND table_type = 'BASE TABLE'`,
  );
  expect(tables.length).toBeGreaterThan(20);
  const hex = Buffer.from(text).toString("hex");
  const found: string[] = [];
  for (const { name } of tables) {
    const [row] = await t.sql<{ n: number }>(
      `SELECT count(*)::int AS n FROM ${name} AS x WHERE strpos(x::text, $1) > 0 OR strpos(x::text, $2) > 0`,
      [text, hex],
    );
    if ((row?.n ?? 0) > 0) found.push(name);
  }
  return found;
}
const seenBy = (model: ScriptedModel): string => JSON.stringify(model.ledger.map(({ request }) => request));

describe("a redaction", () => {
  test("nothing that comes from outside is recorded, or shown to a model, as it came", async () => {
    const kinds = new Set<string>();
    const noted: RedactFn = (value, what) => {
      kinds.add(what.kind);
      return mails(value, what);
    };
    const lookup = tool("lookup", () => ({ mail: SECRET, large: `${SECRET} `.repeat(20_000) }));
    const breaks = tool("breaks", () => Promise.reject(new Error(`no such ${SECRET}`)));
    const gated = tool("gated", () => "done", { approval: () => true });
    const model = createScriptedModel((request) =>
      request.messages.length === 1
        ? {
            tools: [
              { name: "lookup", args: {} },
              { name: "breaks", args: {} },
              { name: "gated", args: {} },
            ],
          }
        : "done",
    );
    const main = workflow(async (ctx) => {
      const looked = await ctx.step("look", async () => ({ to: SECRET }));
      const broken = await ctx
        .step("break", () => Promise.reject(new Error(`lost ${SECRET}`)), { attempts: 1 })
        .catch((e: unknown) => (e instanceof Error ? e.message : ""));
      const answer = await ctx.ask<Json>("r", { input: ctx.input, looked: looked as Json, broken });
      return [answer, (await ctx.waitFor<Json>("paid")) ?? null];
    });
    const stack = stackOf([role("r", { tools: [lookup, breaks, gated] })], main, model, { redact: noted });
    const ref = { agent: AGENT, runId: await stack.start(AGENT, { from: SECRET }) };
    expect(await stack.drive(ref)).toMatchObject({ status: "waitingApproval" });
    const decision = { ...ref, granted: true, by: "ann", comment: `asked ${SECRET}` };
    expect(await decideApproval(stack.deps, decision)).toEqual({ type: "told" });
    expect(await stack.drive(ref)).toMatchObject({ status: "waitingSignal" });
    expect(await sendSignal(stack.deps, { ...ref, signal: "paid", value: [SECRET] })).toEqual({ type: "told" });
    expect(await stack.drive(ref)).toMatchObject({ status: "completed", output: ["done", ["[mail]"]] });
    const view = await readRun(stack.deps, ref);
    expect(view?.run.input).toEqual({ from: "[mail]" });
    expect(view?.approvals[0]?.decided?.comment).toBe("asked [mail]");
    expect([await whereIs(SECRET), seenBy(model).includes(SECRET)]).toEqual([[], false]);
    expect(seenBy(model)).toContain("no such [mail]");
    expect(await whereIs("[mail]")).not.toEqual([]);
    expect([...kinds].sort()).toEqual([
      "comment",
      "input",
      "signal",
      "stepError",
      "stepResult",
      "toolError",
      "toolResult",
    ]);
    expect((await stack.deps.store.runs.list({ text: "ann", limit: 5 })).runs).toEqual([]); // nor is a run found by it
  });

  test("messages of a session, why a run is cancelled, and schedules", async () => {
    const model = createScriptedModel(() => "yes");
    const stack = stackOf([role("r")], { kind: "session", role: "r" }, model);
    const ref = { agent: AGENT, runId: await stack.start(AGENT, `I am ${SECRET}`) };
    await stack.drive(ref);
    const said = { ...ref, text: `write to ${SECRET}`, close: false, steer: false, idempotencyKey: "k" };
    expect([await sendMessage(stack.deps, said), await sendMessage(stack.deps, said)]).toEqual([
      { type: "told" },
      { type: "told" }, // the same again under its key
    ]);
    await stack.drive(ref);
    expect(seenBy(model)).toContain("write to [mail]");
    await cancelRun(stack.deps, { ...ref, reason: `${SECRET} asked for it` });
    expect(await stack.drive(ref)).toMatchObject({ status: "cancelled" });
    const deps = { ...stack.deps, schedules: createSchedules(t.database), cron: cronTimes };
    const schedule = {
      name: "n",
      agent: AGENT,
      process: "main",
      cron: "* * * * *",
      zone: "UTC",
      catchUp: "last" as const,
    };
    await createSchedule(deps, { ...schedule, input: SECRET, enabled: true }, "ann");
    // One that was made before there was a redaction is still due.
    await t.sql(
      "UPDATE toren_control.schedules SET input = to_jsonb($1::text), next_at = date_trunc('minute', clock_timestamp())",
      [`old ${SECRET}`],
    );
    expect(await fireSchedules(deps)).toEqual({ fired: 1 });
    expect([await whereIs(SECRET), seenBy(model).includes(SECRET)]).toEqual([["toren_control.schedules"], false]);
  });

  test("what it gave is the value: a replay finds it, under another redaction too, and the same request under a key is the run of then", async () => {
    const hand = fate();
    const model = createScriptedModel((request) => {
      if (hand.dead || !JSON.stringify(request.messages).includes("second")) return "said";
      hand.dead = true; // the first answer is on record
      hand.onDeath();
      return new Promise(() => {});
    });
    const main = workflow(async (ctx) => [
      await ctx.ask("r", { from: ctx.input, step: (await ctx.step("s", async () => SECRET)) as Json }),
      await ctx.ask("r", "second"),
    ]);
    const dies = stackOf([role("r")], main, model, { fate: hand });
    const request = { agent: AGENT, input: SECRET, idempotencyKey: "once" };
    const started = await startRun(dies.deps, request);
    if (started.type === "refused") throw new Error(started.error.message);
    const ref = { agent: AGENT, runId: started.runId };
    await dies.drive(ref);
    await Promise.allSettled(hand.underWay);
    await passTime(t.database, AGENT);
    expect(model.ledger).toHaveLength(2);
    const other: RedactFn = (value) => redactTexts(value, (text) => text.replaceAll(MAIL, "***"));
    const stack = stackOf([role("r")], main, model, { redact: other, generation: 2 });
    expect(await stack.drive(ref)).toMatchObject({ status: "completed" });
    expect(await readRun(stack.deps, ref)).toMatchObject({ receipt: { modelCalls: 2, repaid: 0 } });
    expect(model.ledger).toHaveLength(3);
    expect(await t.events(ref.runId, "run")).not.toContain("StreamInvalidated");
    expect(seenBy(model)).not.toContain("***");
    const same = stackOf([role("r")], main, model);
    expect(await startRun(same.deps, request)).toEqual({ type: "existing", runId: ref.runId });
  });
});

describe("one that fails", () => {
  const wrong: readonly (readonly [string, RedactFn])[] = [
    [
      "throws what it was given",
      (value) => {
        throw new TypeError(JSON.stringify(value));
      },
    ],
    ["returns nothing", (() => {}) as unknown as RedactFn],
    ["returns a promise", (async (value: Json) => value) as unknown as RedactFn],
    ["returns what isn't JSON", (() => () => 1) as unknown as RedactFn],
  ];
  test.each(wrong)("and %s has nothing recorded, and its error tells nothing", async (_, broken) => {
    const redact: RedactFn = (value, what) => (what.kind === "input" && value === "fine" ? value : broken(value, what));
    const lookup = tool("lookup", () => SECRET);
    const model = createScriptedModel((request) =>
      request.messages.length === 1 ? { tools: [{ name: "lookup", args: {} }] } : "done",
    );
    const main = workflow(async (ctx) => {
      const step = await ctx.step("s", async () => SECRET, { attempts: 1 }).catch((e: unknown) => (e as Error).message);
      return [step, await ctx.ask<Json>("r", "x"), await ctx.waitFor<Json>("paid")] as Json;
    });
    const stack = stackOf([role("r", { tools: [lookup] })], main, model, { redact });
    const refused = await startRun(stack.deps, { agent: AGENT, input: SECRET });
    expect(refused).toMatchObject({ type: "refused", error: { code: "redaction.failed" } });
    expect(JSON.stringify(refused)).not.toContain(SECRET);
    expect(await t.sql(`SELECT 1 FROM agent_${AGENT}.runs`)).toEqual([]);
    const ref = { agent: AGENT, runId: await stack.start(AGENT, "fine") };
    expect(await stack.drive(ref)).toMatchObject({ status: "waitingSignal" });
    expect(await sendSignal(stack.deps, { ...ref, signal: "paid", value: SECRET })).toMatchObject({
      error: { code: "redaction.failed" },
    });
    expect([await whereIs(SECRET), seenBy(model).includes(SECRET)]).toEqual([[], false]);
    expect(seenBy(model)).toContain("Nothing of it was recorded");
  });

  test("a text must stay one; and who doesn't serve the agent records nothing that it might have to see", async () => {
    const main: ProcessDefinition = { kind: "session", role: "r" };
    const redact: RedactFn = (value, what) => (what.kind === "message" ? { text: value } : value);
    const stack = stackOf(
      [role("r")],
      main,
      createScriptedModel(() => "yes"),
      { redact },
    );
    const ref = { agent: AGENT, runId: await stack.start(AGENT, "x") };
    await stack.drive(ref);
    const said = { ...ref, text: SECRET, close: false, steer: false };
    expect(await sendMessage(stack.deps, said)).toMatchObject({ error: { code: "redaction.failed" } });
    const stranger = { ...stack.deps, agents: { get: () => null, names: () => [] } };
    expect(await sendMessage(stranger, said)).toMatchObject({ error: { code: "agent.unknown" } });
    expect(await cancelRun(stranger, { ...ref, reason: SECRET })).toEqual({ type: "told" });
    expect(await whereIs(SECRET)).toEqual([]);
  });
});
