// Over 300 lines: one model that fills a window, and all that is done about it.
// Making room in the window: what is left out, what is folded, and that a replay of either asks the same again. I6: both are events by value.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Message, ModelRequest, ModelResponse } from "../../../shared/core/messages.ts";
import { shrink } from "../../../shared/core/task/compaction.ts";
import { headerOf } from "../../../shared/core/task/header.ts";
import { nextAction } from "../../../shared/core/task/loop.ts";
import { pressure, tokensOfMessages } from "../../../shared/core/task/pressure.ts";
import { replay } from "../../../shared/core/task/replay.ts";
import { requestDigest, type TaskState } from "../../../shared/core/task/task-state.ts";
import {
  anyAnswer,
  begin,
  CAPS,
  comparable,
  illegal,
  started,
  type Tape,
  type Task,
  takeUp,
  tapeOf,
  task,
  turn,
  type Writer,
} from "./driver.ts";

const WINDOW = 2_000;
const tight: Task = { ...task, caps: { ...CAPS, contextWindow: WINDOW, maxSteps: 1_000 } };
const none = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 };
const isSummary = (request: ModelRequest): boolean =>
  JSON.stringify(request.messages.at(-1)).includes("that you write now");

/** A model that calls `look` at every step, and writes a summary when it is asked for one. */
const looking = (n: number): ModelResponse => ({
  content: [{ type: "toolUse", id: `c${n}`, name: "look", args: { n } }],
  stopReason: "toolUse",
  usage: none,
});
const saying = (text: string): ModelResponse => ({ content: [{ type: "text", text }], stopReason: "end", usage: none });

/** One action of the loop, with results of so many characters. */
function act(writer: Writer, of: Task, chars: number, summary: (request: ModelRequest) => ModelResponse): string {
  const action = nextAction(writer.state, of.caps);
  if (action.type === "record") writer.record(action.event);
  else if (action.type === "ask") {
    const { stepId, digest, purpose, request } = action;
    expect(illegal(request.messages)).toEqual([]);
    writer.record({ type: "LlmCallStarted", stepId, requestDigest: digest, model: "mock/script", purpose });
    const { usage, ...response } = purpose === "summary" ? summary(request) : looking(writer.state.steps);
    writer.record({ type: "LlmCallCompleted", stepId, response, usage });
  } else if (action.type === "tools")
    for (const { use } of action.calls) {
      const call = { stepId: action.stepId, toolUseId: use.id };
      writer.record({
        type: "ToolCallStarted",
        ...call,
        tool: "look",
        args: use.args,
        idempotencyKey: use.id,
        effects: "none",
        idempotency: "none",
      });
      writer.record({ type: "ToolCallCompleted", ...call, result: "x".repeat(chars), isError: false });
    }
  else if (action.type === "fail") writer.record({ type: "TaskFailed", error: action.error });
  return action.type;
}

function run(of: Task, chars: number, actions: number, summary = () => saying("so far so good")): Writer {
  const writer = begin(of);
  started(writer);
  for (let n = 0; n < actions && act(writer, of, chars, summary) !== "fail"; n++);
  return writer;
}
const count = (writer: Writer, type: string): number => writer.raw.filter((e) => e.type === type).length;
const fullness = ({ measured, history }: TaskState): number => pressure(measured, history) / WINDOW;
const said = (messages: readonly Message[]): string => JSON.stringify(messages);

describe("old results of tools", () => {
  test("become a line each past half of the window, the last three stay, and the log keeps them", () => {
    const writer = run(tight, 900, 12);
    expect(count(writer, "ToolResultsElided")).toBeGreaterThan(0);
    expect(count(writer, "ContextCompacted")).toBe(0);
    const texts = writer.state.history.messages.flatMap((m) =>
      m.content.flatMap((p) => (p.type === "toolResult" ? [p.text] : [])),
    );
    expect(texts[0]).toContain("The output of look was left out");
    expect(texts.slice(-3).every((t) => t.startsWith("x"))).toBe(true);
    expect(writer.raw.filter((e) => e.type === "ToolCallCompleted").every((e) => "result" in e && e.result)).toBe(true);
  });

  test("stay where little would be freed, and short ones always", () => {
    expect(count(run(tight, 100, 40), "ToolResultsElided")).toBe(0);
    const { state } = run(tight, 900, 9);
    expect(shrink(state, 1_000_000)).toBeNull();
  });
});

test("an old result of a call with effects outside doesn't say that it may be made again", () => {
  const { raw } = run(tight, 900, 12);
  const paid = raw.map((e) =>
    e.type === "ToolCallStarted" && e.toolUseId === "c0" ? { ...e, effects: "external" as const } : e,
  );
  const read = replay(headerOf(tight.role), null, tight.input, paid);
  if (read.type !== "ok") throw new Error(read.reason);
  const [first, second] = read.state.history.messages.flatMap((m) =>
    m.content.flatMap((p) => (p.type === "toolResult" ? [p.text] : [])),
  );
  expect(first).toMatch(/^\(The output of look was left out .* has been made/);
  expect(second).toContain("call the tool again");
});

describe("older history", () => {
  test("becomes a summary by one call with the same beginning, and the recent messages stay", () => {
    const writer = begin(tight);
    started(writer);
    let asked: ModelRequest | null = null;
    for (let n = 0; asked === null && n < 400; n++)
      act(writer, tight, 400, (request) => {
        asked = request;
        return saying("summary of it");
      });
    const request = asked as unknown as ModelRequest;
    expect(isSummary(request)).toBe(true);
    const { system, tools } = writer.header;
    expect(request).toMatchObject({ system, tools });
    expect(request.maxTokens).toBeLessThanOrEqual(WINDOW / 8);
    const before = writer.state.history.messages.length;
    expect(act(writer, tight, 400, () => saying(""))).toBe("record");
    const { messages } = writer.state.history;
    expect(messages.length).toBeLessThan(before);
    expect(messages.length).toBeGreaterThanOrEqual(6 + 1);
    expect(said(messages.slice(0, 1))).toContain("summary of it");
    expect(fullness(writer.state)).toBeLessThan(0.78);
    expect(illegal(messages)).toEqual([]);
  });

  test("is asked for with room to think: what the role may say in an answer, as far as the window has it", () => {
    for (const [maxTokens, least] of [
      [900, 300],
      [50, 240],
    ] as const) {
      const of: Task = { ...tight, role: { ...tight.role, maxTokens } };
      const asked: ModelRequest[] = [];
      run(of, 400, 120, ((request: ModelRequest) => asked.push(request) && saying("so far so good")) as never);
      expect(asked.length).toBeGreaterThan(0);
      for (const request of asked) {
        expect(request.maxTokens).toBeGreaterThanOrEqual(least); // of the window's 2,000, a summary has 240
        expect(request.maxTokens).toBeLessThanOrEqual(Math.max(maxTokens, 240));
        expect(said(request.messages.slice(-1))).toContain("at most 240 tokens");
        expect(tokensOfMessages(request.messages) + request.maxTokens).toBeLessThanOrEqual(WINDOW);
      }
    }
  });

  test("goes on for ever: the window is never passed", () => {
    const writer = begin(tight);
    started(writer);
    for (let n = 0; n < 1_500; n++) {
      act(writer, tight, 300, () => saying("s".repeat(200)));
      expect(fullness(writer.state)).toBeLessThan(1);
    }
    expect(count(writer, "ContextCompacted")).toBeGreaterThan(10);
    expect(count(writer, "TaskFailed")).toBe(0);
  });

  test("an answer without text is asked once more in plain words; then the task fails, and no more is asked", () => {
    const asked: ModelRequest[] = [];
    const writer = run(tight, 400, 400, ((request: ModelRequest) => {
      asked.push(request);
      return looking(99);
    }) as never);
    expect(asked).toHaveLength(2);
    expect(asked[1]?.tools).toEqual([]);
    expect(asked[1]?.messages).toHaveLength(1);
    expect(writer.raw.at(-1)).toMatchObject({ type: "TaskFailed", error: { code: "compaction_failed" } });
  });

  test("an input over the window is summarised in parts, each asked once; every part is in one", () => {
    const input = Array.from({ length: 3_000 }, (_, i) => `fact ${i}`).join(" ");
    const big: Task = { ...tight, input };
    let writer = begin(big);
    started(writer);
    const parts: string[] = [];
    for (let n = 0; count(writer, "ContextCompacted") === 0 && n < 200; n++) {
      act(writer, big, 1, (request) => {
        parts.push(said(request.messages));
        return saying(`summary ${parts.length}`);
      });
      const next = takeUp(big, writer.raw); // the worker died: nothing that was answered is asked again
      if (next === null) throw new Error("cut");
      writer = next;
    }
    expect(parts.length).toBeGreaterThan(5);
    expect(new Set(parts).size).toBe(parts.length);
    for (let i = 0; i < 3_000; i += 97) expect(parts.filter((p) => new RegExp(`fact ${i}\\b`).test(p))).not.toEqual([]);
    expect(said(writer.state.history.messages)).toContain(`summary ${parts.length}`);
  });

  test("a model whose summaries are longer than they may be is not asked for them in a circle", () => {
    const wordy = ({ maxTokens }: ModelRequest) => saying("s".repeat(maxTokens * 6));
    for (let system = 0; system < 5_400; system += 150) {
      const of: Task = { ...tight, role: { ...tight.role, system: "y".repeat(system) } };
      const writer = begin(of);
      started(writer);
      for (let n = 0; n < 120 && act(writer, of, 30, wordy) !== "fail"; n++);
      const made = writer.raw.map((e) => (e.type === "LlmCallStarted" ? e.purpose : e.type)).join(" ");
      const inARow = made.split(" step ").map((between) => between.split("ContextCompacted").length - 1);
      expect(Math.max(...inARow)).toBeLessThanOrEqual(3);
      const end = writer.raw.at(-1);
      if (end?.type === "TaskFailed") expect(end.error.code).toMatch(/^(context_exceeded|compaction_failed)$/);
    }
  });

  test("a summary that would free little isn't asked for while there is room", () => {
    const of: Task = { ...tight, role: { ...tight.role, system: "y".repeat(3_600) } }; // of the window's 2,000 tokens it takes 1,200
    const writer = run(of, 60, 60, () => saying("s".repeat(600)));
    const summaries = count(writer, "ContextCompacted");
    expect(summaries).toBeGreaterThan(0);
    expect(writer.state.steps).toBeGreaterThan(2 * summaries);
  });

  test("what can't be made shorter fails with the reason: a system prompt over the window", () => {
    const wide: Task = { ...tight, role: { ...tight.role, system: "y".repeat(9_000) } };
    const writer = run(wide, 1, 10);
    expect(writer.raw.at(-1)).toMatchObject({ type: "TaskFailed", error: { code: "context_exceeded" } });
    expect(count(writer, "LlmCallStarted")).toBe(0);
  });
});

describe("a provider that says too long", () => {
  const unbounded: Task = { ...task, caps: { ...CAPS, maxSteps: 1_000 } };
  const exceeded = { code: "context_exceeded", message: "too long" } as const;

  test("before the answer, or in it: room is made, and the question is asked again", () => {
    const writer = run(unbounded, 2_000, 30);
    const before = fullness(writer.state);
    while (nextAction(writer.state, unbounded.caps).type !== "ask") act(writer, unbounded, 2_000, () => saying("s"));
    const { stepId, digest } = nextAction(writer.state, unbounded.caps) as { stepId: string; digest: string };
    writer.record({ type: "LlmCallStarted", stepId, requestDigest: digest, model: "m", purpose: "step" });
    writer.record({ type: "LlmCallFailed", stepId, error: exceeded });
    expect(nextAction(writer.state, unbounded.caps).type).toBe("record");
    while (nextAction(writer.state, unbounded.caps).type === "record") act(writer, unbounded, 1, () => saying("s"));
    expect(fullness(writer.state)).toBeLessThan(before);
    const again = nextAction(writer.state, unbounded.caps);
    expect(again.type).toBe("ask");
    writer.record({
      type: "LlmCallStarted",
      stepId,
      requestDigest: requestDigest(writer.state),
      model: "m",
      purpose: "step",
    });
    const half: ModelResponse = {
      content: [{ type: "text", text: "half" }],
      stopReason: "contextExceeded",
      usage: none,
    };
    const { usage, ...response } = half;
    writer.record({ type: "LlmCallCompleted", stepId, response, usage });
    expect(said(writer.state.history.messages)).not.toContain("half");
    expect(["record", "ask"]).toContain(nextAction(writer.state, unbounded.caps).type);
  });

  test("always: ends, with the reason, after a bounded number of calls", () => {
    const writer = run(unbounded, 500, 20);
    let actions = 0;
    for (; actions < 300; actions++) {
      const action = nextAction(writer.state, unbounded.caps);
      if (action.type === "fail") break;
      if (action.type !== "ask") act(writer, unbounded, 500, () => saying("s"));
      else {
        const { stepId, digest, purpose } = action;
        writer.record({ type: "LlmCallStarted", stepId, requestDigest: digest, model: "m", purpose });
        writer.record({ type: "LlmCallFailed", stepId, error: exceeded });
      }
    }
    expect(actions).toBeLessThan(60);
    expect(nextAction(writer.state, unbounded.caps)).toMatchObject({ error: { code: "context_exceeded" } });
  });
});

describe("replay", () => {
  const tape = fc.array(fc.nat(10_000), { maxLength: 600, minLength: 200 });
  /** Most answers call tools, and nobody counts tokens. */
  const uncounted = (at: Tape): ModelResponse => {
    const answer = anyAnswer(at);
    const ends = !answer.content.some((p) => p.type === "toolUse") && at.pick(4) > 0;
    return { ...(ends ? looking(at.pick(1_000)) : answer), usage: none };
  };
  const windows = fc.constantFrom(250, 500, 1_000, 2_500);

  test("I6: of any log with compaction gives the state of its writer, and requests are always legal", () => {
    let compacted = 0;
    fc.assert(
      fc.property(tape, windows, (numbers, contextWindow) => {
        const of: Task = { ...task, caps: { ...CAPS, contextWindow, maxSteps: 1_000 } };
        const at = tapeOf(numbers);
        const writer = begin(of);
        started(writer);
        for (let n = 0; n < 80 && !at.over && turn(writer, of.caps, at, uncounted); n++) {
          const next = nextAction(writer.state, of.caps);
          if (next.type === "ask") expect(illegal(next.request.messages)).toEqual([]);
        }
        const read = replay(headerOf(of.role), null, of.input, writer.raw);
        if (read.type !== "ok") throw new Error(read.reason);
        expect(comparable(read.state)).toEqual(comparable(writer.state));
        expect(requestDigest(read.state)).toBe(requestDigest(writer.state));
        expect(nextAction(read.state, of.caps)).toEqual(nextAction(writer.state, of.caps));
        compacted += count(writer, "ContextCompacted") + count(writer, "ToolResultsElided");
      }),
      { numRuns: 300 },
    );
    expect(compacted).toBeGreaterThan(15);
  });

  test("I6: another window changes nothing that was done; another prompt cuts at the first step, summaries and all", () => {
    const writer = run(tight, 400, 120);
    expect(count(writer, "ContextCompacted")).toBeGreaterThan(0);
    const edited = { ...tight.role, system: "Another." };
    expect(replay(headerOf(tight.role), null, tight.input, writer.raw).type).toBe("ok");
    const cut = replay(headerOf(edited), null, tight.input, writer.raw);
    expect(cut).toMatchObject({ type: "mismatch", reason: expect.stringContaining("system changed, seen at step s0") });
  });
});
