// People in the loop on the real engine: approvals, sessions, decisions about cuts, and outages that cost no compute.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import { decideApproval, decideCut } from "../../shared/engine/speak-to-task.ts";
import type { RoleDefinition, ToolDefinition } from "../../shared/ports/agents.ts";
import { role, tool, workflow } from "../support/agents.ts";
import { AGENT, type EngineTest, engineTest, firstText, until } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

const MAIN = { kind: "role", role: "main" } as const;
const results = (r: ModelRequest): string[] =>
  (r.messages.at(-1)?.content ?? []).flatMap((p) => (p.type === "toolResult" ? [p.text] : []));
const gated = (name: string, ran: string[], more: Partial<ToolDefinition> = {}) =>
  tool(
    name,
    (args) => {
      ran.push(`${name} ${JSON.stringify(args)}`);
      return `${name} done`;
    },
    { effects: "external", idempotency: "keyed", approval: () => true, ...more },
  );
const decide = (runId: string, granted: boolean, more: { call?: string; by?: string; comment?: string } = {}) => ({
  agent: AGENT,
  runId,
  granted,
  by: "ann",
  comment: "",
  ...more,
});

describe("approvals", () => {
  async function waiting(
    tools: ToolDefinition[],
    calls: { name: string; args: { n: number } }[],
    more: Partial<RoleDefinition> = {},
  ) {
    const model = createScriptedModel((r, n): Turn => (n === 0 ? { tools: calls } : results(r).join(" | ")));
    const stack = t.stack([role("main", { tools, ...more })], MAIN, { model });
    const runId = await stack.start(AGENT, "x");
    const row = await stack.drive({ agent: AGENT, runId });
    return { stack, runId, row, model };
  }

  test("c5: of four parallel calls the two plain ones run once, the two gated ones wait, and no result is invented", async () => {
    const ran: string[] = [];
    const plain = tool("look", () => {
      ran.push("look");
      return "seen";
    });
    const calls = [
      { name: "look", args: { n: 1 } },
      { name: "refund", args: { n: 2 } },
      { name: "look", args: { n: 3 } },
      { name: "refund", args: { n: 4 } },
    ];
    const { stack, runId, row, model } = await waiting([plain, gated("refund", ran)], calls);
    expect(row?.status).toBe("waitingApproval");
    expect(ran).toEqual(["look", "look"]);
    expect(await stack.deps.store.tasks.approvals(AGENT, runId)).toMatchObject([
      { tool: "refund", args: { n: 2 }, decided: null },
      { tool: "refund", args: { n: 4 } },
    ]);
    const [first, second] = await stack.deps.store.tasks.approvals(AGENT, runId);
    expect(await decideApproval(stack.deps, decide(runId, true))).toMatchObject({
      type: "refused",
      error: { code: "approval.ambiguous" },
    });
    expect(await decideApproval(stack.deps, decide(runId, true, { call: first?.toolUseId ?? "" }))).toEqual({
      type: "told",
    });
    expect((await stack.drive({ agent: AGENT, runId }))?.status).toBe("waitingApproval");
    expect(
      await decideApproval(stack.deps, decide(runId, false, { call: second?.toolUseId ?? "", comment: "too much" })),
    ).toEqual({ type: "told" });
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({
      status: "completed",
      output: "seen | refund done | seen | ann did not allow this call, and it did not run: too much",
    });
    expect(ran).toEqual(["look", "look", 'refund {"n":2}']);
    expect(model.ledger).toHaveLength(2);
  });

  test("two tasks' calls with one id are told apart by their keys, and are both decided", async () => {
    const ran: string[] = [];
    const roles = [role("main", { tools: [gated("refund", ran)] })];
    const model = createScriptedModel((r): Turn => {
      const call = { name: "refund", args: { of: firstText(r) }, id: "call_0" };
      return r.messages.length === 1 ? { tools: [call] } : results(r).join();
    });
    const both = workflow(async (ctx) => {
      const { results } = await ctx.wave("w", [ctx.task("main", "a"), ctx.task("main", "b")]);
      return results.map((r) => r.output ?? null);
    });
    const stack = t.stack(roles, both, { model });
    const runId = await stack.start(AGENT, "x");
    expect((await stack.drive({ agent: AGENT, runId }))?.status).toBe("waitingApproval");
    const [a, b] = await stack.deps.store.tasks.approvals(AGENT, runId);
    const ambiguous = await decideApproval(stack.deps, decide(runId, true, { call: "call_0" }));
    expect(ambiguous).toMatchObject({
      error: { code: "approval.ambiguous", message: expect.stringContaining(`${b?.key}`) },
    });
    await decideApproval(stack.deps, decide(runId, true, { call: `${b?.key}` }));
    await decideApproval(stack.deps, decide(runId, false, { call: "call_0", comment: "no" })); // one is left
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed" });
    expect(ran).toEqual([`refund ${JSON.stringify(b?.args)}`]);
    expect(await decideApproval(stack.deps, decide(runId, true, { call: `${a?.key}` }))).toMatchObject({
      error: { code: "run.ended", message: expect.stringContaining("denied by ann") },
    });
  });

  test("c18: two people decide at the same moment: one wins, the other is told who and when", async () => {
    const ran: string[] = [];
    const { stack, runId } = await waiting([gated("refund", ran)], [{ name: "refund", args: { n: 1 } }]);
    const told = await Promise.all([
      decideApproval(stack.deps, decide(runId, true)),
      decideApproval(stack.deps, decide(runId, false, { by: "bob" })),
    ]);
    const loser = told.find((d) => d.type === "refused");
    expect(told.filter((d) => d.type === "told")).toHaveLength(1);
    expect(loser).toMatchObject({
      error: { code: "decision.taken", message: expect.stringMatching(/(granted by ann|denied by bob), at 20/) },
    });
    await stack.drive({ agent: AGENT, runId });
    expect(await decideApproval(stack.deps, decide(runId, true))).toMatchObject({
      type: "refused",
      error: { code: "run.ended" },
    });
  });

  test("c6: whether a call needs approval is decided once, whatever the function would say after a restart", async () => {
    const ran: string[] = [];
    let strict = true;
    const { stack, runId } = await waiting(
      [gated("refund", ran, { approval: () => strict })],
      [{ name: "refund", args: { n: 1 } }],
    );
    stack.stop();
    strict = false;
    const again = t.stack([role("main", { tools: [gated("refund", ran, { approval: () => strict })] })], MAIN, {
      model: createScriptedModel((r) => results(r).join()),
    });
    await again.deps.queue.send([{ queue: "tasks-short", hint: { agent: AGENT, runId, taskId: "w0t0" } }]);
    expect((await again.drive({ agent: AGENT, runId }))?.status).toBe("waitingApproval");
    expect(ran).toEqual([]);
  });

  test("two equal calls of one answer are two to decide about: allowing one runs one", async () => {
    const ran: string[] = [];
    const refund = { name: "refund", args: { n: 1 } };
    const { stack, runId } = await waiting([gated("refund", ran)], [refund, refund]);
    const [first, second] = await stack.deps.store.tasks.approvals(AGENT, runId);
    expect(first?.key).not.toBe(second?.key);
    await decideApproval(stack.deps, decide(runId, true, { call: `${first?.toolUseId}` }));
    expect((await stack.drive({ agent: AGENT, runId }))?.status).toBe("waitingApproval");
    expect(ran).toEqual(['refund {"n":1}']);
    await decideApproval(stack.deps, decide(runId, false, { comment: "once is enough" }));
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({
      status: "completed",
      output: "refund done | ann did not allow this call, and it did not run: once is enough",
    });
    expect(ran).toEqual(['refund {"n":1}']);
  });

  test("a call that was denied and is made again is another one: it is asked about again", async () => {
    const ran: string[] = [];
    const model = createScriptedModel(
      (r, n): Turn => (n < 2 ? { tools: [{ name: "refund", args: { n: 1 } }] } : results(r).join()),
    );
    const stack = t.stack([role("main", { tools: [gated("refund", ran)] })], MAIN, { model });
    const runId = await stack.start(AGENT, "x");
    await stack.drive({ agent: AGENT, runId });
    await decideApproval(stack.deps, decide(runId, false, { comment: "photos first" }));
    expect((await stack.drive({ agent: AGENT, runId }))?.status).toBe("waitingApproval");
    await decideApproval(stack.deps, decide(runId, true));
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed", output: "refund done" });
    expect(ran).toHaveLength(1);
  });

  test("what nobody decides in time is denied, by a fact under the decision's own key", async () => {
    const ran: string[] = [];
    const { row } = await waiting([gated("refund", ran)], [{ name: "refund", args: { n: 1 } }], {
      approvalTimeoutMs: 150,
    });
    expect(row).toMatchObject({ status: "completed", output: expect.stringContaining("nobody decided in time") });
    expect(ran).toEqual([]);
  });

  test("a decision for a call that isn't waiting, and for an unknown run, is refused; nothing changes", async () => {
    const { stack, runId } = await waiting([gated("refund", [])], [{ name: "refund", args: { n: 1 } }]);
    expect(await decideApproval(stack.deps, decide(runId, true, { call: "nowhere" }))).toMatchObject({
      error: { code: "approval.unknown", message: expect.stringContaining("refund") },
    });
    expect(await decideApproval(stack.deps, decide("01980f2e-7c1a-4d5b-9e3f-000000000001", true))).toMatchObject({
      error: { code: "run.unknown" },
    });
    expect(await t.payloads(runId, "ApprovalResolved")).toEqual([]);
  });
});

describe("a cut that would repeat an effect (I6b)", () => {
  async function asked() {
    const sent: string[] = [];
    const mail = tool(
      "mail",
      () => {
        sent.push("mail");
        return "sent";
      },
      { effects: "external" },
    );
    let hang = true;
    const model = createScriptedModel((r) =>
      r.messages.length === 1
        ? { tools: [{ name: "mail", args: {} }] }
        : hang
          ? new Promise<Turn>(() => {})
          : `by ${r.system}`,
    );
    const roles = (system: string) => [role("main", { system, tools: [mail] })];
    const one = t.stack(roles("old"), MAIN, { model });
    const runId = await one.start(AGENT, "x");
    void one.drive({ agent: AGENT, runId });
    await until(() => model.ledger.length === 2);
    one.fate.dead = true;
    one.fate.onDeath();
    hang = false;
    await t.sql(
      `UPDATE agent_${AGENT}.streams SET lease_until = clock_timestamp(), wake_at = clock_timestamp() WHERE status = 'running'`,
    );
    const two = t.stack(roles("new"), MAIN, { model, generation: 2 });
    expect((await two.drive({ agent: AGENT, runId }))?.status).toBe("waitingCut");
    const price = { modelCalls: 1, usd: expect.any(Number), simulated: true };
    expect(await t.payloads(runId, "CutRequested")).toMatchObject([{ calls: ["mail"], price }]);
    return { two, runId, sent, model };
  }
  test("--rerun makes the cut, and the effect again", async () => {
    const { two, runId, sent } = await asked();
    expect(await decideCut(two.deps, { agent: AGENT, runId, decision: "rerun", by: "ann" })).toEqual({ type: "told" });
    expect(await two.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed", output: "by new" });
    expect(sent).toEqual(["mail", "mail"]);
  });
  test("--keep seals what is recorded; the new prompt asks from there", async () => {
    const { two, runId, sent, model } = await asked();
    expect(await decideCut(two.deps, { agent: AGENT, runId, decision: "keep", by: "ann" })).toEqual({ type: "told" });
    expect(await two.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed", output: "by new" });
    expect(sent).toEqual(["mail"]);
    expect(model.ledger).toHaveLength(3);
    expect(await t.payloads(runId, "StreamInvalidated")).toEqual([]);
    expect(await decideCut(two.deps, { agent: AGENT, runId, decision: "keep", by: "bob" })).toMatchObject({
      type: "refused",
    });
  });
});

describe("an outage", () => {
  test("c10: a long wait parks the task with the time of its next try; then it goes on", async () => {
    const model = createScriptedModel((_, n) => (n === 0 ? { status: 529, retryAfterMs: 5_200 } : "back"));
    const stack = t.stack([role("main")], MAIN, { model });
    const runId = await stack.start(AGENT, "x");
    const driven = stack.drive({ agent: AGENT, runId });
    await until(async () => (await t.payloads(runId, "LlmCallFailed")).length === 1);
    await until(
      async () =>
        (await t.sql(`SELECT 1 FROM agent_${AGENT}.streams WHERE status = 'parked' AND wait = 'retry'`)).length === 1,
    );
    await until(() => stack.deps.keeper.size === 0); // no lease is renewed for it
    expect(await driven).toMatchObject({ status: "completed", output: "back" });
    expect(await t.payloads(runId, "LlmCallFailed")).toMatchObject([{ retryAt: expect.any(Number) }]);
  });
});
