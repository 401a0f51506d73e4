// A session's state as a value: what is read from it and the rest of the log is what the whole log says (I1).
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { digestOf } from "../../../shared/core/digest.ts";
import type { TaskEvent } from "../../../shared/core/events.ts";
import { type Json, toJson } from "../../../shared/core/json.ts";
import type { AssistantPart } from "../../../shared/core/messages.ts";
import { headerOf } from "../../../shared/core/task/header.ts";
import { nextAction } from "../../../shared/core/task/loop.ts";
import { replay } from "../../../shared/core/task/replay.ts";
import { FOLD_VERSION, type Snapshot, snapshotOf, stateFrom } from "../../../shared/core/task/snapshot.ts";
import { apply, approvalKey } from "../../../shared/core/task/state.ts";
import { initialState, requestDigest, type TaskState } from "../../../shared/core/task/task-state.ts";
import { anyAnswer, CAPS, comparable, type Recorded, recorded, role, type Tape, tapeOf, usage } from "./driver.ts";

const CAP = { ...CAPS, contextWindow: 1_500, maxSteps: 1_000 };
const header = headerOf(role, true);

/** A conversation by today's loop, and what could be kept of it each time that it waited. */
function talk(numbers: readonly number[], counted = true): { raw: Recorded[]; kept: Snapshot[]; state: TaskState } {
  const tape = tapeOf(numbers);
  const raw: Recorded[] = [];
  const kept: Snapshot[] = [];
  const state = initialState(header, null, "Hello.", true);
  let inboxSeq = 0;
  const record = (event: TaskEvent): void => {
    recorded(raw, event);
    apply(state, event, raw.length);
  };
  record({ type: "TaskStarted", attempt: 1, specDigest: header.digest, parts: { ...header.parts } });
  for (let n = 0; n < 120 && !tape.over; n++) {
    const action = nextAction(state, CAP);
    if (action.type === "record") record(action.event);
    else if (action.type === "ask") {
      const { stepId, digest, purpose } = action;
      record({ type: "LlmCallStarted", stepId, requestDigest: digest, model: "m", purpose });
      const { usage: spent, ...response } = answer(tape, n);
      record({
        type: "LlmCallCompleted",
        stepId,
        response,
        usage: counted ? spent : { ...usage, input: 0, output: 0 },
      });
    } else if (action.type === "tools")
      for (const { use } of action.calls) {
        const call = { stepId: action.stepId, toolUseId: use.id };
        const key = { idempotencyKey: `${use.name}${n}`, effects: "none", idempotency: "none" } as const;
        record({ type: "ToolCallStarted", ...call, tool: use.name, args: use.args, ...key });
        record({ type: "ToolCallCompleted", ...call, result: "long ".repeat(tape.pick(80)), isError: false });
      }
    else if (action.type === "show") record({ type: "InputRequested", text: action.text });
    else if (action.type === "wait") {
      const taken = snapshotOf(state);
      if (taken !== null) kept.push({ seq: raw.length, absorbed: inboxSeq, state: toJson(taken) });
      record({ type: "UserMessage", text: `message ${n}`, inboxSeq: ++inboxSeq });
    } else break;
  }
  return { raw, kept, state };
}

/** Unique ids: what the engine's `normalise` sees to. */
function answer(tape: Tape, n: number) {
  const given = anyAnswer(tape);
  const content = given.content.map((p, i) => (p.type === "toolUse" ? { ...p, id: `u${n}_${i}`, args: { n } } : p));
  return { ...given, content, stopReason: content.some((p) => p.type === "toolUse") ? "toolUse" : "end" } as const;
}

describe("a session's state as a value", () => {
  const tape = fc.array(fc.nat(10_000), { minLength: 100, maxLength: 500 });

  test("I1: with the rest of the log it is the state of the whole log, and asks the same", () => {
    let taken = 0;
    fc.assert(
      fc.property(tape, fc.boolean(), (numbers, counted) => {
        const { raw, kept, state } = talk(numbers, counted);
        for (const from of kept) {
          taken++;
          const rest = raw.filter((e) => e.seq > from.seq);
          const read = replay(header, null, "Hello.", rest, true, from);
          if (read.type !== "ok") throw new Error(read.reason);
          const whole = replay(header, null, "Hello.", raw, true);
          if (whole.type !== "ok") throw new Error(whole.reason);
          expect(requestDigest(read.state)).toBe(requestDigest(whole.state));
          expect(nextAction(read.state, CAP)).toEqual(nextAction(whole.state, CAP));
          const { history: _, ...bare } = comparable(read.state) as { history: unknown };
          const { history: __, ...expected } = comparable(whole.state) as { history: unknown };
          expect(bare).toEqual(expected);
          expect(read.state.history.messages).toEqual(whole.state.history.messages);
          expect([...read.state.usedIds].sort()).toEqual([...whole.state.usedIds].sort());
          expect(read.state.starts).toEqual(whole.state.starts);
          expect(read.state.ledger).toEqual(whole.state.ledger);
          expect(read.state.session).toEqual(state.session);
        }
      }),
      { numRuns: 250 },
    );
    expect(taken).toBeGreaterThan(200);
  });

  test("I6a: under another prompt it gives the state that the whole log gives: nothing is asked anew", () => {
    const { raw, kept } = talk(Array.from({ length: 400 }, (_, i) => (i * 7) % 113));
    const last = kept.at(-1);
    if (last === undefined) throw new Error("it never waited");
    const edited = headerOf({ ...role, system: "Another." }, true);
    const upTo = raw.filter((e) => e.seq <= last.seq);
    const [short, whole] = [replay(edited, null, "Hello.", [], true, last), replay(edited, null, "Hello.", upTo, true)];
    if (short.type !== "ok" || whole.type !== "ok") throw new Error("cut");
    expect(requestDigest(short.state)).toBe(requestDigest(whole.state));
  });

  test("it knows what people were asked, and which calls had effects outside: neither is forgotten between two turns", () => {
    const state = initialState(header, null, "x", true);
    const use = { type: "toolUse", id: "u1", name: "pay", args: { n: 1 } } as const;
    const call = { stepId: "s0", toolUseId: "u1", tool: "pay", args: use.args };
    const answered = (stepId: string, content: AssistantPart[]): TaskEvent => ({
      type: "LlmCallCompleted",
      stepId,
      response: { content, stopReason: "end" },
      usage,
    });
    const asked = approvalKey(state, "k", "none");
    const log: TaskEvent[] = [
      answered("s0", [use]),
      { type: "ApprovalRequested", ...call, key: asked },
      { type: "ToolCallStarted", ...call, idempotencyKey: "k", effects: "external", idempotency: "none" },
      { type: "ToolCallCompleted", stepId: "s0", toolUseId: "u1", result: "paid", isError: false },
      answered("s1", [{ type: "text", text: "Done." }]),
      { type: "InputRequested", text: "Done." },
    ];
    for (const [i, event] of log.entries()) apply(state, event, i + 1);
    const kept = snapshotOf(state);
    if (kept === null) throw new Error("it doesn't wait");
    const read = stateFrom({ seq: log.length, absorbed: 0, state: toJson(kept) }, header, null);
    expect(read.asked).toEqual(new Set([asked]));
    expect(read.external).toEqual(new Set(["u1"]));
  });

  test("a task that is no session, or one that works, has none", () => {
    expect(snapshotOf(initialState(header, null, "x"))).toBeNull();
    expect(snapshotOf(initialState(header, null, "x", true))).toBeNull();
  });

  test("golden: the same log folds to the same state; if this fails, raise FOLD_VERSION and write the vector anew", () => {
    const golden: { version: number; digest: string } = JSON.parse(
      readFileSync(new URL("../../vectors/snapshot.json", import.meta.url), "utf8"),
    );
    const { kept } = talk(Array.from({ length: 400 }, (_, i) => (i * 31) % 97));
    expect({ version: FOLD_VERSION, digest: digestOf(kept.map((k) => k.state) as unknown as Json) }).toEqual(golden);
  });
});
