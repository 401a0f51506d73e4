import { describe, expect, test } from "@jest/globals";
import { eventLine } from "../../../local/terminal/event-line.ts";
import { styleOf } from "../../../local/terminal/style.ts";
import type { Json } from "../../../shared/core/json.ts";

const style = styleOf({ write: () => {}, size: () => null, colour: false });
const line = (type: string, payload: Json, stream = "run", columns: number | null = null): string =>
  eventLine({ stream, seq: 1, type, recordedAt: "2026-01-02T03:04:05.678Z", payload }, style, columns);

describe("an event as a line", () => {
  test.each([
    ["RunCreated", { process: "main", input: "a\nb" }, "main a b"],
    ["WavePlanned", { name: "dig", tasks: ["w1t0", "w1t1"] }, "dig: w1t0 w1t1"],
    ["TaskStarted", { attempt: 1 }, ""],
    ["TaskStarted", { attempt: 3 }, "attempt 3"],
    ["LlmCallStarted", { stepId: "s0", model: "openai/x" }, "s0 openai/x"],
    ["ToolCallStarted", { tool: "search", args: { q: "x" } }, 'search {"q":"x"}'],
    ["ToolCallCompleted", { isError: true, result: "no" }, "error no"],
    ["ToolCallCompleted", { isError: false }, "…"],
    ["TaskSettled", { op: 2, task: 0, outcome: { status: "completed" } }, "2/0 completed"],
    ["StreamInvalidated", { fromSeq: 4, reason: "system changed" }, "from 4: system changed"],
    ["TasksGivenUp", { tasks: ["w0t0", "w1t0"], generation: 2 }, "w0t0 w1t0"],
    ["RunFailed", { error: { code: "wave.failed", message: "two of two" } }, "wave.failed: two of two"],
    ["TimerSet", { dueAt: 0 }, "due 1970-01-01T00:00:00.000Z"],
    ["OfANewerVersion", {}, ""],
  ])("%s %j", (type, payload, detail) => {
    expect(line(type, payload)).toBe(`03:04:05.678  run      ${type.padEnd(19)} ${detail}`.trimEnd());
  });

  test("an answer is its text and the tools that it calls", () => {
    const usage = { input: 1_000, cacheRead: 0, cacheWrite: 0, output: 234, reasoning: 0 };
    const content = [
      { type: "text", text: "I look." },
      { type: "toolUse", name: "search", id: "1", args: {} },
    ];
    const text = line(
      "LlmCallCompleted",
      { stepId: "s0", usage, response: { content, stopReason: "toolUse" } },
      "task:w0t0",
    );
    expect(text).toBe("03:04:05.678  w0t0     LlmCallCompleted    s0 1,234 tokens I look. → search");
    expect(line("LlmCallCompleted", { stepId: "s0", usage }, "task:w0t0")).toMatch(/1,234 tokens …$/);
  });

  test("no line is wider than the terminal, and none moves its cursor", () => {
    const text = line("TaskCompleted", { result: `\u001b[2J${"x".repeat(500)}` }, "task:w0t0", 80);
    expect([...text]).toHaveLength(80);
    expect(text).not.toContain("\u001b");
  });
});
