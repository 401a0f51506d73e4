// A worker that dies in the middle of a call that nobody can safely repeat (c3), where the role says that a person is asked.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel, type ScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import { hash } from "../../shared/core/digest.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import { callKey } from "../../shared/core/task/state.ts";
import { readRun } from "../../shared/engine/read-run.ts";
import { decideApproval } from "../../shared/engine/speak-to-task.ts";
import type { RoleDefinition, ToolDefinition } from "../../shared/ports/agents.ts";
import { role, tool } from "../support/agents.ts";
import { passTime, type Stack } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest, until } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

const MAIN = { kind: "role", role: "main" } as const;
const results = (r: ModelRequest): string[] =>
  (r.messages.at(-1)?.content ?? []).flatMap((p) => (p.type === "toolResult" ? [p.text] : []));

/** A desk that mails: the tool hangs while `hang` is set, and notes each beginning. */
function desk(respond: (r: ModelRequest, n: number) => Turn = twice, more: Partial<RoleDefinition> = {}) {
  const begun: string[] = [];
  const world = { hang: true };
  const mail = tool(
    "mail",
    (_, { idempotencyKey }) => {
      begun.push(idempotencyKey);
      return world.hang ? new Promise(() => {}) : "mailed";
    },
    { effects: "external", timeoutMs: 3_000 }, // a call that hangs in a dead worker must not keep the process
  );
  const model = createScriptedModel(respond);
  const stack = (tools: readonly ToolDefinition[] = [mail], changed: Partial<RoleDefinition> = {}): Stack =>
    t.stack([role("main", { tools: [...tools], onUnknownOutcome: "ask", ...more, ...changed })], MAIN, { model });
  return { begun, world, mail, model, stack };
}
type Desk = ReturnType<typeof desk> & { readonly model: ScriptedModel };

/** Mails twice, with the same words, and says what came of it. */
const twice = (r: ModelRequest, n: number): Turn =>
  n < 2 ? { tools: [{ name: "mail", args: { to: "ann" } }] } : results(r).join();
const once = (r: ModelRequest, n: number): Turn =>
  n < 1 ? { tools: [{ name: "mail", args: { to: "ann" } }] } : results(r).join();

/** Works until the tool has begun once more, and dies. */
async function diesInside({ begun }: Desk, stack: Stack, runId: string): Promise<void> {
  const before = begun.length;
  void stack.drive({ agent: AGENT, runId });
  await until(() => begun.length === before + 1);
  stack.fate.dead = true;
  stack.fate.onDeath();
  await passTime(t.database, AGENT);
}
const decide = (stack: Stack, runId: string, granted: boolean, comment = "") =>
  decideApproval(stack.deps, { agent: AGENT, runId, granted, by: "ann", comment });

async function asked(of: Desk): Promise<{ runId: string; heir: Stack }> {
  const first = of.stack();
  const runId = await first.start(AGENT, "x");
  await diesInside(of, first, runId);
  const heir = of.stack();
  expect((await heir.drive({ agent: AGENT, runId }))?.status).toBe("waitingApproval");
  return { runId, heir };
}

describe("a call whose worker died, under onUnknownOutcome: ask", () => {
  test("waits for a person, who is told why; it didn't run again", async () => {
    const of = desk();
    const { runId, heir } = await asked(of);
    expect(of.begun).toHaveLength(1);
    expect(await heir.deps.store.tasks.approvals(AGENT, runId)).toMatchObject([
      { tool: "mail", args: { to: "ann" }, reason: "unknownOutcome", decided: null },
    ]);
    expect((await readRun(heir.deps, { agent: AGENT, runId }))?.reason).toMatch(
      /^mail \{"to":"ann"\} ran when its worker died.*toren jobs approve/,
    );
  });

  test("allowed: it begins again, on record and under its key; the next equal call is the second, not the third", async () => {
    const of = desk();
    const { runId, heir } = await asked(of);
    of.world.hang = false;
    await decide(heir, runId, true);
    expect(await heir.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed", output: "mailed" });
    const keys = (await t.payloads(runId, "ToolCallStarted")).map((p) => p.idempotencyKey);
    expect(of.begun).toEqual(keys);
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).toBe(hash(`${runId}\nw0t0\n${callKey("mail", { to: "ann" })}\n1`));
    expect(of.model.ledger).toHaveLength(3);
  });

  test("denied: it didn't run again, and the model is told that nobody knows", async () => {
    const of = desk(once);
    const { runId, heir } = await asked(of);
    await decide(heir, runId, false, "the bank has it");
    expect(await heir.drive({ agent: AGENT, runId })).toMatchObject({
      status: "completed",
      output: expect.stringMatching(/took effect is unknown.*ann did not allow it to run again: the bank has it$/),
    });
    expect(of.begun).toHaveLength(1);
  });

  test("c6: allowed and begun again, its worker dies again: that is another one to decide about", async () => {
    const of = desk(once);
    const { runId, heir } = await asked(of);
    await decide(heir, runId, true);
    await diesInside(of, heir, runId);
    const third = of.stack();
    expect((await third.drive({ agent: AGENT, runId }))?.status).toBe("waitingApproval");
    expect(of.begun).toHaveLength(2);
    expect(await third.deps.store.tasks.approvals(AGENT, runId)).toMatchObject([
      { decided: { granted: true } },
      { reason: "unknownOutcome", decided: null },
    ]);
    of.world.hang = false;
    const call = (await third.deps.store.tasks.approvals(AGENT, runId))[0]?.toolUseId ?? "";
    const named = { agent: AGENT, runId, call, granted: true, by: "ann", comment: "" };
    expect(await decideApproval(third.deps, named)).toEqual({ type: "told" }); // by its id it is the one that waits
    expect(await third.drive({ agent: AGENT, runId })).toMatchObject({ output: "mailed" });
    expect(of.begun).toHaveLength(3);
  });

  test("I6b: an edit doesn't do it again behind everybody's back: the cut waits, and names the call", async () => {
    const of = desk(once);
    const first = of.stack();
    const runId = await first.start(AGENT, "x");
    await diesInside(of, first, runId);
    of.world.hang = false;
    const edited = t.stack([role("main", { tools: [of.mail], onUnknownOutcome: "ask", system: "Another." })], MAIN, {
      model: of.model,
      generation: 2,
    });
    expect((await edited.drive({ agent: AGENT, runId }))?.status).toBe("waitingCut");
    expect(of.begun).toHaveLength(1);
  });

  test("what nobody decides in time stays as it is", async () => {
    const of = desk(once, { approvalTimeoutMs: 150 });
    const first = of.stack();
    const runId = await first.start(AGENT, "x");
    await diesInside(of, first, runId);
    expect(await of.stack().drive({ agent: AGENT, runId })).toMatchObject({
      status: "completed",
      output: expect.stringContaining("nobody decided in time"),
    });
    expect(of.begun).toHaveLength(1);
  });

  test("a decision holds, though the role says retry by the time that it is read", async () => {
    const of = desk(once);
    const { runId, heir } = await asked(of);
    heir.stop();
    await decide(heir, runId, false, "no");
    const lenient = of.stack([of.mail], { onUnknownOutcome: "retry" });
    expect(await lenient.drive({ agent: AGENT, runId })).toMatchObject({ output: expect.stringContaining("unknown") });
    expect(of.begun).toHaveLength(1);
  });

  test("a keyed call just runs again", async () => {
    const of = desk(once);
    const keyed = { ...of.mail, idempotency: "keyed" as const };
    const first = of.stack([keyed]);
    const runId = await first.start(AGENT, "x");
    await diesInside(of, first, runId);
    of.world.hang = false;
    expect(await of.stack([keyed]).drive({ agent: AGENT, runId })).toMatchObject({ output: "mailed" });
    expect(new Set(of.begun).size).toBe(1);
    expect(await t.payloads(runId, "ApprovalRequested")).toEqual([]);
  });
});

test("I4: a task that fails by onUnknownOutcome: fail records no start of a call that never begins", async () => {
  const paid: string[] = [];
  const pay = tool("pay", () => paid.push("pay"), { effects: "external", idempotency: "keyed", approval: () => true });
  const both = { tools: ["pay", "mail"].map((name) => ({ name, args: {} })) };
  const of = desk(() => both, { onUnknownOutcome: "fail" });
  const first = of.stack([pay, of.mail]);
  const runId = await first.start(AGENT, "x");
  await diesInside(of, first, runId);
  const heir = of.stack([pay, of.mail]);
  await decide(heir, runId, true);
  expect(await heir.drive({ agent: AGENT, runId })).toMatchObject({
    status: "failed",
    error: { code: "tool.unknown_outcome" },
  });
  expect((await t.payloads(runId, "ToolCallStarted")).map((p) => p.tool)).toEqual(["mail"]);
  expect(paid).toEqual([]);
});
