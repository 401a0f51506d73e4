// People see what a model was asked, to the last character, and what an edit changed: derived again from the log by the fold that asked (I1).
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel, type ScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import { createInspection } from "../../shared/adapters/store/inspection.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import { type CallView, readCall } from "../../shared/engine/read-call.ts";
import { decideApproval, sendMessage } from "../../shared/engine/speak-to-task.ts";
import { role, tool } from "../support/agents.ts";
import type { Stack } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

const MAIN = { kind: "role", role: "main" } as const;
const CHAT = { kind: "session", role: "main" } as const;
const look = tool("look", () => "seen".repeat(200));

/** Every question of the task that is on record, as people read it, in the order of the log. */
async function calls(stack: Stack, runId: string): Promise<CallView[]> {
  const deps = { ...stack.deps, inspection: createInspection(t.database) };
  const rows = await t.sql<{ seq: number }>(
    `SELECT seq::int AS seq FROM agent_${AGENT}.events WHERE run_id = $1 AND type = 'LlmCallStarted' ORDER BY seq`,
    [runId],
  );
  const views: CallView[] = [];
  for (const { seq } of rows) {
    const read = await readCall(deps, { agent: AGENT, runId, taskId: "w0t0", seq });
    if (read.type === "refused") throw new Error(read.error.message);
    views.push(read.call);
  }
  return views;
}
const asked = (model: ScriptedModel): ModelRequest[] => model.ledger.map((entry) => entry.request);

describe("a question to a model", () => {
  test("I1: is shown as it went out, with the one before it", async () => {
    const model = createScriptedModel((_, n): Turn => (n < 3 ? { tools: [{ name: "look", args: { n } }] } : "done"));
    const { runId, stack } = await t.run([role("main", { system: "Look\u0000.", tools: [look] })], MAIN, model);
    const views = await calls(stack, runId);
    expect(views.map((view) => view.request)).toEqual(asked(model));
    expect(views.map((view) => [view.stepId, view.purpose, view.exact])).toEqual(
      ["s0", "s1", "s2", "s3"].map((id) => [id, "step", true]),
    );
    expect(views.map((view) => view.previous?.request ?? null)).toEqual([null, ...asked(model).slice(0, -1)]);
  });

  test("of a long session too: turns, an edit of the prompt between them, summaries", async () => {
    const answer = (r: ModelRequest): Turn =>
      JSON.stringify(r.messages.at(-1)).includes("will go on from a summary") ? "much was said" : "word ".repeat(60);
    const model = createScriptedModel(answer);
    const chat = (system: string, generation: number) =>
      t.stack([role("main", { system, contextWindow: 2_000, maxTokens: 100 })], CHAT, { model, generation });
    let stack = chat("Be kind.", 1);
    const runId = await stack.start(AGENT, "hello");
    const at = { agent: AGENT, runId };
    for (let n = 0; n < 16; n++) {
      if (n === 8) {
        stack.stop();
        stack = chat("Be brief.", 2);
      }
      await stack.drive(at);
      await sendMessage(stack.deps, { ...at, text: `message ${n}`, close: n === 15, steer: false });
    }
    expect((await stack.drive(at))?.status).toBe("completed");
    const views = await calls(stack, runId);
    expect(views.filter((view) => view.purpose === "summary").length).toBeGreaterThan(0);
    expect(new Set(views.map((view) => view.request?.system.split("\n")[0]))).toEqual(
      new Set(["Be kind.", "Be brief."]),
    );
    expect(views.map((view) => view.request)).toEqual(asked(model));
    expect(views.filter((view) => !view.exact)).toEqual([]);
  });

  test("that an edit has cut is still read, and is what the new one is compared with", async () => {
    const model = createScriptedModel(
      (r): Turn => (r.messages.length < 3 ? { tools: [{ name: "pay", args: {} }] } : "ok"),
    );
    const pay = tool("pay", () => "paid", { approval: () => true });
    const desk = (system: string, generation: number) =>
      t.stack([role("main", { system, tools: [pay] })], MAIN, { model, generation });
    const before = desk("You pay.", 1);
    const runId = await before.start(AGENT, "x");
    const at = { agent: AGENT, runId };
    await before.drive(at);
    before.stop();
    const after = desk("You pay at once.", 2);
    await decideApproval(after.deps, { ...at, granted: true, comment: "", by: "ann" });
    await after.drive(at);
    const views = await calls(after, runId);
    expect(views.map((view) => view.request)).toEqual(asked(model));
    const [cut, anew] = views;
    expect([cut?.stepId, anew?.stepId]).toEqual(["s0", "s0"]);
    expect(anew?.previous).toMatchObject({ seq: cut?.seq, request: { system: "You pay." } });
    expect(anew?.request?.system).toBe("You pay at once.");
  });

  test("whose beginning isn't kept any more says so, and shows nothing made up", async () => {
    const { runId, stack } = await t.run(
      [role("main", { system: "gone" })],
      MAIN,
      createScriptedModel(() => "ok"),
    );
    await t.sql(`DELETE FROM agent_${AGENT}.request_headers`);
    expect(await calls(stack, runId)).toMatchObject([{ request: null, exact: false, stepId: "s0" }]);
  });

  test("that there isn't is refused by what it lacks", async () => {
    const { runId, stack } = await t.run(
      [role("main")],
      MAIN,
      createScriptedModel(() => "ok"),
    );
    const deps = { ...stack.deps, inspection: createInspection(t.database) };
    const read = (taskId: string, seq: number) => readCall(deps, { agent: AGENT, runId, taskId, seq });
    for (const [taskId, seq, words] of [
      ["w9t9", 1, 'no task "w9t9"'],
      ["w0t0", 1, "isn't a question"],
      ["w0t0", 999, "isn't a question"],
    ] as const)
      expect(await read(taskId, seq)).toMatchObject({
        type: "refused",
        error: { code: "not_found", message: expect.stringContaining(words) },
      });
  });
});
