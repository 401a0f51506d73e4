import { describe, expect, test } from "@jest/globals";
import { itemsOf, type Outlined } from "../../../console/model/steps.ts";
import { barOf, type Line, taskLines, timelineOf } from "../../../console/model/timeline.ts";
import type { RunJson, TaskJson } from "../../../shared/http/run-json.ts";

const AT = Date.parse("2026-11-30T08:00:00Z");
const event = (seq: number, type: string, payload: Outlined["payload"] = {}): Outlined => ({
  seq,
  type,
  recordedAt: new Date(AT + seq * 1_000).toISOString(),
  payload,
});
const asks = (seq: number, stepId: string) =>
  event(seq, "LlmCallStarted", { stepId, model: "mock/a", purpose: "step", requestDigest: `d${seq}` });
const answers = (seq: number, said = "ok") => event(seq, "LlmCallCompleted", { said, stopReason: "end" });
const lines = (...events: Outlined[]): Line[] => taskLines("w0t0", events, 1);
const words = (all: readonly Line[]): string[] => all.map((l) => `${l.cut ? "~" : ""}${l.name}`);

describe("what happened in a task", () => {
  test("a question is one line with its answer; its tools stand below, by when they began", () => {
    const all = lines(
      event(1, "TaskStarted", { attempt: 1 }),
      asks(2, "s0"),
      answers(3),
      event(4, "ToolCallStarted", { toolUseId: "a", tool: "look", said: '{"q":1}' }),
      event(5, "ToolCallStarted", { toolUseId: "b", tool: "read" }),
      event(6, "ToolCallCompleted", { toolUseId: "b", isError: true, said: "no" }),
      event(7, "ToolCallCompleted", { toolUseId: "a", isError: false, said: "yes" }),
      asks(8, "s1"),
    );
    expect(words(all)).toEqual(["model s0", "look", "read", "model s1"]);
    expect(all.map((l) => [l.depth, l.tone])).toEqual([
      [1, "call"],
      [2, "tool"],
      [2, "bad"],
      [1, "busy"],
    ]);
    expect(all[1]).toMatchObject({ from: AT + 4_000, to: AT + 7_000, more: '{"q":1}' });
    expect(all[3]).toMatchObject({ to: null, more: "asking…" });
  });

  test("a worker that takes over uses answers again; a question without an answer was lost", () => {
    const all = lines(
      asks(1, "s0"),
      answers(2),
      asks(3, "s1"),
      event(4, "TaskStarted", { attempt: 2 }),
      asks(5, "s1"),
      answers(6),
    );
    expect(words(all)).toEqual(["model s0", "model s1", "resumed, attempt 2", "model s1"]);
    expect(all[0]).toMatchObject({ tone: "replay", icon: "replay" });
    expect(all[1]?.more).toContain("no answer was recorded");
    expect(all[2]?.more).toBe("1 recorded answer used again, not paid");
  });

  test("a cut strikes out what it took, but nothing that came from outside", () => {
    const all = lines(
      asks(1, "s0"),
      answers(2),
      event(3, "UserMessage", { said: "hi", inboxSeq: 1 }),
      asks(4, "s1"),
      answers(5),
      event(6, "StreamInvalidated", { fromSeq: 1, reason: "system changed, seen at step s0" }),
      asks(7, "s0"),
    );
    expect(words(all)).toEqual(["~model s0", "user", "~model s1", "cut", "model s0"]);
    expect(all[3]?.more).toBe("system changed, seen at step s0");
    expect(itemsOf([]).length).toBe(0);
  });

  test("a wait for a person is as long as it took", () => {
    const all = lines(
      event(1, "ApprovalRequested", { key: "k", tool: "pay" }),
      event(2, "ApprovalRequested", { key: "l", tool: "pay" }),
      event(9, "ApprovalResolved", { key: "k", granted: true, by: "ann" }),
      event(10, "InputRequested", { said: "hi" }),
      event(14, "UserMessage", { said: "ho" }),
    );
    expect(all.map((l) => [l.name, l.from === null ? null : (l.to ?? 0) - l.from])).toEqual([
      ["pay needs approval", 8_000],
      ["pay needs approval", null],
      ["approved", null],
      ["answer shown", 4_000],
      ["user", null],
    ]);
  });

  test("events of a newer version are shown by their names, whatever is in them", () => {
    expect(words(lines(event(1, "SomethingNew", { said: { odd: true } })))).toEqual(["SomethingNew"]);
    expect(() =>
      lines(event(1, "TaskFailed", {}), event(2, "ToolCallCompleted", {}), event(3, "ToolResultsElided", {})),
    ).not.toThrow();
  });

  test("names and texts of models stay short and in one line", () => {
    const [line] = lines(
      event(1, "ToolCallStarted", { toolUseId: "a", tool: "x\n".repeat(500), said: "\u202e".repeat(500) }),
    );
    expect(line?.name.length).toBeLessThanOrEqual(60);
    expect(line?.more).not.toContain("\u202e");
  });

  test("2,000 steps with a tool each fold within a tenth of a second", () => {
    const log = Array.from({ length: 2_000 }, (_, i) => [
      asks(4 * i + 1, `s${i}`),
      answers(4 * i + 2),
      event(4 * i + 3, "ToolCallStarted", { toolUseId: `u${i}`, tool: "look" }),
      event(4 * i + 4, "ToolCallCompleted", { toolUseId: `u${i}`, isError: false }),
    ]).flat();
    lines(...log.slice(0, 400));
    const began = performance.now();
    expect(lines(...log)).toHaveLength(4_000);
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});

const task = (taskId: string, more: Partial<TaskJson> = {}): TaskJson =>
  ({
    taskId,
    role: "digger",
    status: "ended",
    outcome: "completed",
    wait: null,
    startedAt: new Date(AT).toISOString(),
    endedAt: new Date(AT + 5_000).toISOString(),
    ...more,
  }) as TaskJson;

describe("a run", () => {
  const run = {
    waves: [
      { wave: 0, tasks: [task("w0t0", { role: "planner" })] },
      {
        wave: 1,
        tasks: [
          task("w1t0"),
          task("w1t1", { outcome: "failed" }),
          task("w1t2", { outcome: null, status: "running", endedAt: null }),
        ],
      },
    ],
  } as unknown as RunJson;
  const own = [
    event(1, "RunCreated"),
    event(2, "WavePlanned", { wave: 0, name: "planner" }),
    event(3, "TimerSet", {}),
    event(4, "WavePlanned", { wave: 1, name: "dig" }),
    event(5, "TimerFired", { op: 3 }),
  ];
  const of = (open: readonly string[], tasks = new Map<string, Outlined[]>()) =>
    timelineOf({ run, own, tasks, isOpen: (id) => open.includes(id) });

  test("shows waves where they were planned, single tasks in their place, tasks of open waves", () => {
    expect(words(of([]))).toEqual(["planner", "timer", "dig"]);
    const opened = of(["wave:1", "task:w1t1"], new Map([["w1t1", [asks(1, "s0")]]]));
    expect(words(opened)).toEqual(["planner", "timer", "dig", "digger", "digger", "model s0", "digger"]);
    expect(opened.map((l) => l.depth)).toEqual([0, 0, 0, 1, 1, 2, 1]);
    expect(opened[2]).toMatchObject({ tone: "bad", to: null, more: "2 of 3 tasks ended, 1 failed" });
    expect(opened[1]).toMatchObject({ from: AT + 3_000, to: AT + 5_000 });
  });

  test("bars lie within the run's time, whatever clocks say", () => {
    const line = (from: number | null, to: number | null) => ({ from, to }) as Line;
    expect(barOf(line(AT, AT + 50), AT, AT + 100, AT + 100)).toEqual({ left: 0, width: 50 });
    expect(barOf(line(AT - 50, AT + 500), AT, AT + 100, AT + 100)).toEqual({ left: 0, width: 100 });
    expect(barOf(line(AT + 10, null), AT, AT + 100, AT + 60)).toEqual({ left: 10, width: 50 });
    expect(barOf(line(null, null), AT, AT + 100, AT)).toBeNull();
  });
});
