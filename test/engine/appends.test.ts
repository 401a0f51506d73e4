// I4: what is known together shares an append. Counted exactly: each is a round trip that a user pays for in latency.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import { migrate } from "../../shared/adapters/store/migrate.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import type { ProcessDefinition, RoleDefinition } from "../../shared/ports/agents.ts";
import { agent, role, serving, tool, workflow } from "../support/agents.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { createStack } from "../support/stack.ts";
import { until } from "./support.ts";

const AGENT = "crew";
let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, [AGENT]);
});
afterAll(async () => await db.drop());

/** Of the run under way. */
let appended: readonly string[] = [];

async function appendsOf(
  roles: RoleDefinition[],
  main: ProcessDefinition,
  respond: (r: ModelRequest, n: number) => Turn,
) {
  const model = createScriptedModel(respond);
  const stack = createStack({ database: db.database, agents: serving(agent(AGENT, roles, main)), model });
  appended = stack.appended;
  const runId = await stack.start(AGENT, "x");
  const row = await stack.drive({ agent: AGENT, runId });
  stack.stop();
  expect(row?.status).toBe("completed");
  return stack.appended;
}
const calls = (n: number): Turn => ({ tools: Array.from({ length: n }, (_, i) => ({ name: "look", args: { i } })) });
/** Results arrive one after the other, each when the one before is on record, so that none can share an append by luck. */
const staggered = () => {
  let nth = 0;
  return tool("look", async () => {
    const before = nth++;
    await until(() => appended.filter((a) => a.includes("ToolCallCompleted")).length >= before);
    return "seen";
  });
};

describe("appends of a task (I4)", () => {
  test("one call: two", async () => {
    const appends = await appendsOf([role("main")], { kind: "role", role: "main" }, () => "hi");
    expect(appends.filter((a) => a.startsWith("task:"))).toEqual([
      "task:w0t0: TaskStarted LlmCallStarted run",
      "task:w0t0: LlmCallCompleted TaskCompleted end",
    ]);
  });
  test("a step with one tool call: exactly two more, the second carries the next call's start", async () => {
    const appends = await appendsOf([role("main", { tools: [staggered()] })], { kind: "role", role: "main" }, (_, n) =>
      n === 0 ? calls(1) : "done",
    );
    expect(appends.filter((a) => a.startsWith("task:"))).toEqual([
      "task:w0t0: TaskStarted LlmCallStarted run",
      "task:w0t0: LlmCallCompleted ToolCallStarted run",
      "task:w0t0: ToolCallCompleted LlmCallStarted run",
      "task:w0t0: LlmCallCompleted TaskCompleted end",
    ]);
  });
  test("a step with five tool calls: at most 1 + 5", async () => {
    const appends = await appendsOf([role("main", { tools: [staggered()] })], { kind: "role", role: "main" }, (_, n) =>
      n === 0 ? calls(5) : "done",
    );
    expect(appends.filter((a) => a.startsWith("task:"))).toHaveLength(1 + (1 + 5) + 1);
  });
  test("a failed try adds one", async () => {
    const appends = await appendsOf([role("main")], { kind: "role", role: "main" }, (_, n) =>
      n === 0 ? { status: 429, retryAfterMs: 1 } : "hi",
    );
    expect(appends.filter((a) => a.startsWith("task:"))).toEqual([
      "task:w0t0: TaskStarted LlmCallStarted run",
      "task:w0t0: LlmCallFailed LlmCallStarted run",
      "task:w0t0: LlmCallCompleted TaskCompleted end",
    ]);
  });
});

describe("appends of a run (I4)", () => {
  test("a wave of five and its end: plan, park; then all outcomes and the run's end in one", async () => {
    const main = workflow(
      async (ctx) =>
        (
          await ctx.wave(
            "w",
            [1, 2, 3, 4, 5].map((i) => ctx.task("r", i)),
          )
        ).results.length,
    );
    const appends = await appendsOf([role("r")], main, () => "ok");
    expect(appends.filter((a) => a.startsWith("run:"))).toEqual([
      "run: WavePlanned plan",
      "run: park",
      `run: ${"TaskSettled ".repeat(5)}WaveSettled RunCompleted end`,
    ]);
  });
});
