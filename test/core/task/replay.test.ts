// Over 300 lines: the builders of logs stand with the properties that use them. I1: the log is the state. I6: on resume each question is derived again. Over logs that today's loop wrote, of any shape.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { parseTaskEvents, type RawEvent } from "../../../shared/core/events.ts";
import type { AssistantPart, ModelResponse } from "../../../shared/core/messages.ts";
import { headerOf, type RoleText } from "../../../shared/core/task/header.ts";
import { outputCheck } from "../../../shared/core/task/output.ts";
import { effectiveTask, replay } from "../../../shared/core/task/replay.ts";
import { apply } from "../../../shared/core/task/state.ts";
import { initialState } from "../../../shared/core/task/task-state.ts";
import {
  begin,
  CAPS,
  comparable,
  drive,
  type Recorded,
  recorded,
  role,
  started,
  type Task,
  takeUp,
  tapeOf,
  task,
  turn,
  usage,
  type Writer,
} from "./driver.ts";

const tape = fc.array(fc.nat(10_000), { maxLength: 250, minLength: 20 });
const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
const checked: Task = { ...task, check: outputCheck(schema), role: { ...role, outputSchema: schema } };
const anyTask = fc.constantFrom(task, checked);
const header = headerOf(role);

const stateOf = (of: Task, raw: readonly Recorded[]) => {
  const replayed = replay(headerOf(of.role), of.check, of.input, raw);
  if (replayed.type !== "ok") throw new Error(`mismatch at ${replayed.fromSeq}: ${replayed.reason}`);
  return replayed.state;
};
const toStore = (raw: readonly Recorded[]): RawEvent[] =>
  raw.map(({ seq, recordedAt, type, ...payload }) => ({ seq, recordedAt, type, payload }));

/** Answers in turn, then a final one. */
const scripted = (answers: readonly (readonly AssistantPart[])[]): ((n: number) => ModelResponse) => {
  return (n) => {
    const content = answers[n];
    return content === undefined
      ? { content: [{ type: "text", text: "Done." }], stopReason: "end", usage }
      : { content: [...content], stopReason: "toolUse", usage };
  };
};
const use = (id: string, name: string, args = {}): AssistantPart => ({ type: "toolUse", id, name, args });

function runThrough(of: Task, answers: readonly (readonly AssistantPart[])[], writer: Writer = begin(of)): Writer {
  const answerOf = scripted(answers);
  started(writer);
  while (turn(writer, of.caps, tapeOf([]), () => answerOf(writer.state.steps)));
  return writer;
}

describe("replay", () => {
  test("I1: of every prefix of a log gives what its writer had then, without a false mismatch", () => {
    fc.assert(
      fc.property(anyTask, tape, (of, numbers) => {
        const tapeNow = tapeOf(numbers);
        const writer = begin(of);
        started(writer);
        for (let n = 0; n < 25 && !tapeNow.over; n++) {
          expect(comparable(stateOf(of, writer.raw))).toEqual(comparable(writer.state));
          expect(stateOf(of, writer.raw).usedIds).toEqual(writer.state.usedIds);
          if (!turn(writer, of.caps, tapeNow)) break;
        }
        for (let length = 0; length <= writer.raw.length; length++) stateOf(of, writer.raw.slice(0, length));
      }),
      { numRuns: 150 },
    );
  });

  test("I1: the fold of the rest on the fold of a prefix is the fold of the whole", () => {
    fc.assert(
      fc.property(anyTask, tape, fc.nat(), (of, numbers, at) => {
        const { raw } = drive(of, numbers);
        const cut = at % (raw.length + 1);
        const state = stateOf(of, raw.slice(0, cut));
        for (const event of raw.slice(cut)) apply(state, event, event.seq);
        expect(comparable(state)).toEqual(comparable(stateOf(of, raw)));
      }),
      { numRuns: 150 },
    );
  });

  test("events that the loop wrote are read back as they were", () => {
    fc.assert(
      fc.property(anyTask, tape, (of, numbers) => {
        const { raw } = drive(of, numbers);
        expect(parseTaskEvents(toStore(raw))).toEqual({ ok: true, events: raw });
      }),
      { numRuns: 100 },
    );
  });

  test("I6: after a cut at any event the state is that of the log before it; ids of the cut part stay used", () => {
    fc.assert(
      fc.property(anyTask, tape, fc.nat(), (of, numbers, at) => {
        const { raw } = drive(of, numbers);
        const fromSeq = (at % raw.length) + 1;
        const log = [...raw];
        recorded(log, { type: "StreamInvalidated", fromSeq, reason: "test", generation: 1 });
        const after = stateOf(of, log);
        expect(comparable(after)).toEqual(comparable(stateOf(of, raw.slice(0, fromSeq - 1))));
        expect(after.usedIds).toEqual(stateOf(of, raw).usedIds);
      }),
      { numRuns: 200 },
    );
  });

  test("I6: facts survive a cut, and terminal events don't", () => {
    fc.assert(
      fc.property(tape, fc.nat(), (numbers, at) => {
        const { raw } = drive(task, numbers);
        const fromSeq = (at % raw.length) + 1;
        const log = [...raw];
        recorded(log, { type: "StreamInvalidated", fromSeq, reason: "test", generation: 1 });
        expect(effectiveTask(log)).toEqual(raw.filter((e) => e.seq < fromSeq || e.type === "FactIgnored"));
      }),
    );
    const cancelled: Recorded[] = [];
    recorded(cancelled, { type: "TaskCancelled", inboxSeq: 1, error: { code: "task.cancelled", message: "enough" } });
    recorded(cancelled, { type: "StreamInvalidated", fromSeq: 1, reason: "retry", generation: 1 });
    expect(effectiveTask(cancelled)).toEqual([]);
  });

  test("cuts of cuts: whatever is edited between take-overs, every log can be taken up again", () => {
    const systems = ["You work.", "You work hard.", "You don't."];
    fc.assert(
      fc.property(tape, fc.array(fc.nat(2), { minLength: 2, maxLength: 8 }), (numbers, edits) => {
        const fate = tapeOf(numbers);
        const raw: Recorded[] = [];
        for (const edit of edits) {
          const of = { ...task, role: { ...role, system: systems[edit] as string } };
          const writer = takeUp(of, raw);
          if (writer === null) return; // would repeat a payment
          started(writer);
          for (let n = 0; n < 5 && turn(writer, of.caps, fate); n++);
          expect(comparable(stateOf(of, raw))).toEqual(comparable(writer.state));
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe("I6: a changed question", () => {
  const log = runThrough(task, [[use("a", "look")], [use("b", "look")]]).raw;
  const firstAsk = log.find((e) => e.type === "LlmCallStarted")?.seq;
  const UNPRICED = { modelCalls: 3, usd: null, simulated: false };

  test.each<[string, Partial<RoleText>, string]>([
    ["model", { model: "mock/other" }, "model changed, seen at step s0"],
    ["system", { system: "You rest." }, "system changed, seen at step s0"],
    ["tools", { tools: role.tools.slice(1) }, "tools changed, seen at step s0"],
    ["options", { options: { temperature: 1 } }, "options changed, seen at step s0"],
    ["maxTokens", { maxTokens: 101 }, "maxTokens changed, seen at step s0"],
    ["two parts", { maxTokens: 101, system: "You rest." }, "system, maxTokens changed, seen at step s0"],
  ])("of %s is named, from the first question on", (_, change, reason) => {
    const replayed = replay(headerOf({ ...role, ...change }), null, task.input, log);
    expect(replayed).toEqual({ type: "mismatch", fromSeq: firstAsk, reason, calls: [], begun: [], price: UNPRICED });
  });

  test("of the input is one of the messages", () => {
    const replayed = replay(header, null, "Begin again.", log);
    expect(replayed).toMatchObject({ fromSeq: firstAsk, reason: "the messages of step s0 differ" });
  });

  test("in the middle is cut from there, and the answers before it stay", () => {
    const edited = log.map((e) => (e.type === "ToolCallCompleted" && e.toolUseId === "b" ? { ...e, result: "x" } : e));
    const asks = log.filter((e) => e.type === "LlmCallStarted");
    const replayed = replay(header, null, task.input, edited);
    expect(replayed).toMatchObject({ fromSeq: asks[2]?.seq, reason: "the messages of step s2 differ" });
  });

  test("has the price of what is asked anew: of the answers from the cut on, and of no others", () => {
    const cents = (n: number) => ({ cost: { usd: n / 100, simulated: false } });
    const answers = log.filter((e) => e.type === "LlmCallCompleted").map((e) => e.seq);
    const edited = log.map((e) => {
      if (e.type === "ToolCallCompleted" && e.toolUseId === "a") return { ...e, result: "x" };
      return e.type === "LlmCallCompleted" ? { ...e, ...cents(10 ** answers.indexOf(e.seq)) } : e;
    });
    expect(replay(header, null, task.input, edited)).toMatchObject({
      price: { modelCalls: 2, usd: 1.1, simulated: false },
    });
  });

  test("is seen in the parts of the writer that asked, not of the newest", () => {
    const raw = log.slice(0, 3);
    const other = { ...task, role: { ...role, system: "You rest." } };
    const writer = takeUp(other, raw);
    if (writer === null) throw new Error("nothing was paid");
    runThrough(other, [], writer);
    expect(replay(header, null, task.input, raw)).toMatchObject({ reason: "system changed, seen at step s0" });
    expect(replay(headerOf(other.role), null, task.input, raw)).toMatchObject({ type: "ok" });
  });

  test("what doesn't reach the model cuts nothing: order of keys, space around the system text", () => {
    const same = { ...role, system: `\n${role.system} `, options: JSON.parse(JSON.stringify(role.options)) };
    expect(replay(headerOf(same), null, task.input, log).type).toBe("ok");
  });

  test("at a random log is found at its first question, whatever came before it", () => {
    fc.assert(
      fc.property(tape, (numbers) => {
        const { raw } = drive(task, numbers);
        const replayed = replay(headerOf({ ...role, system: "You rest." }), null, task.input, raw);
        const ask = effectiveTask(raw).find((e) => e.type === "LlmCallStarted");
        if (ask === undefined) expect(replayed.type).toBe("ok");
        else expect(replayed).toMatchObject({ type: "mismatch", fromSeq: ask.seq });
      }),
    );
  });
});

describe("I6b: calls that a cut would silently repeat", () => {
  const edited = headerOf({ ...role, system: "You rest." });
  const calls = (raw: readonly Recorded[]): readonly string[] => {
    const replayed = replay(edited, null, task.input, raw);
    if (replayed.type !== "mismatch") throw new Error("no mismatch");
    return replayed.calls;
  };

  test("are the completed external ones without a key", () => {
    const { raw } = runThrough(task, [[use("a", "pay"), use("b", "look")], [use("c", "pay", { cents: 2 })]]);
    expect(calls(raw)).toEqual(["pay", "pay"]);
    expect(calls(runThrough(task, [[use("b", "look")]]).raw)).toEqual([]);
  });

  test("keyed ones aren't among them, nor what is only in the sandbox", () => {
    const { raw } = runThrough(task, [[use("a", "pay")]]);
    const as = (change: object) => raw.map((e) => (e.type === "ToolCallStarted" ? { ...e, ...change } : e));
    expect(calls(as({ idempotency: "keyed" }))).toEqual([]);
    expect(calls(as({ effects: "sandbox" }))).toEqual([]);
  });

  test("one that started and never ended isn't completed", () => {
    const { raw } = runThrough(task, [[use("a", "pay")]]);
    const end = raw.findIndex((e) => e.type === "ToolCallCompleted");
    expect(calls(raw.slice(0, end))).toEqual([]);
    expect(calls(raw.slice(0, end + 1))).toEqual(["pay"]);
  });

  test("before the cut they stay as they are", () => {
    const { raw } = runThrough(task, [[use("a", "pay")], [use("b", "look")]]);
    const changed = raw.map((e) => (e.type === "ToolCallCompleted" && e.toolUseId === "b" ? { ...e, result: "x" } : e));
    expect(replay(header, null, task.input, changed)).toMatchObject({ type: "mismatch", calls: [] });
  });

  test("what was cut already isn't repeated by the next cut", () => {
    const { raw } = runThrough(task, [[use("a", "pay")]]);
    const log = [...raw];
    recorded(log, { type: "StreamInvalidated", fromSeq: 2, reason: "decided", generation: 1 });
    expect(replay(edited, null, task.input, log).type).toBe("ok");
  });
});

describe("idempotency keys", () => {
  const keys = (raw: readonly Recorded[]): string[] =>
    raw.flatMap((e) => (e.type === "ToolCallStarted" ? [e.idempotencyKey] : []));
  const same = [use("a", "look"), use("b", "look"), use("c", "look", { q: 1 })];

  test("differ for the n-th equal call, in one answer and across answers", () => {
    const { raw } = runThrough(task, [same, [use("d", "look")]]);
    expect(new Set(keys(raw)).size).toBe(4);
  });

  test("are the same again when a cut repeats the calls, and when the log is taken up in the middle", () => {
    const { raw } = runThrough(task, [same, [use("d", "look")]]);
    const first = keys(raw);
    const log = [...raw];
    recorded(log, { type: "StreamInvalidated", fromSeq: 2, reason: "test", generation: 1 });
    const writer = takeUp(task, log);
    if (writer === null) throw new Error("nothing was paid");
    runThrough(task, [same, [use("d", "look")]], writer);
    expect(keys(log).slice(first.length)).toEqual(first);

    for (let length = 1; length < raw.length; length++) {
      const prefix = raw.slice(0, length);
      const next = takeUp(task, prefix);
      if (next === null) throw new Error("the same code would cut its own log");
      runThrough(task, [same, [use("d", "look")]], next);
      expect(keys(prefix)).toEqual(first);
    }
  });

  test("belong to run and task", async () => {
    const { idempotencyKey } = await import("../../../shared/core/task/state.ts");
    const state = initialState(header, null, "x");
    const of = (run: string, id: string) => idempotencyKey(run, id, state, "pay", {});
    expect(new Set([of("r1", "w0t0"), of("r1", "w0t1"), of("r2", "w0t0")]).size).toBe(3);
  });
});

describe("cost", () => {
  const caps = { ...CAPS, maxSteps: 20_000 };
  const step = (of: Writer): void => {
    const n = of.state.steps;
    turn(of, caps, tapeOf([]), () => ({
      content: [use(`u${n}`, "look", { n })],
      stopReason: "toolUse",
      usage,
    }));
    turn(of, caps, tapeOf([]));
  };
  const timed = (work: () => void): number => {
    const before = performance.now();
    work();
    return performance.now() - before;
  };
  const steps = (of: Writer, n: number): number => timed(() => Array.from({ length: n }, () => step(of)));
  const fresh = (): Writer => {
    const writer = begin(task);
    started(writer);
    return writer;
  };
  steps(fresh(), 1_000); // the compiler has seen it
  const early = Math.min(...Array.from({ length: 6 }, () => steps(fresh(), 250)));
  const writer = fresh();
  steps(writer, 1_000);
  const short = [...writer.raw];
  steps(writer, 7_500);
  const late = Math.min(...Array.from({ length: 6 }, () => steps(writer, 250)));

  test("a resume is linear: ten times the steps, not a hundred times the work", () => {
    const fold = (raw: readonly Recorded[]): number =>
      timed(() => expect(replay(header, null, task.input, raw).type).toBe("ok"));
    const least = (raw: readonly Recorded[]) => Math.min(...Array.from({ length: 6 }, () => fold(raw)));
    expect(writer.state.steps).toBe(10_000);
    expect(least(writer.raw) / least(short)).toBeLessThan(40);
  });

  test("a step of a long task costs what is new in it", () => {
    expect(late / early).toBeLessThan(4);
  });
});
