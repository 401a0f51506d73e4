// The log's vocabulary is strict: what this version doesn't know is named, never dropped (I7). The inbox's cursor is the raw log's maximum (I3).
import { describe, expect, test } from "@jest/globals";
import {
  fact,
  inboxCursor,
  parseRunEvents,
  parseTaskEvents,
  type RawEvent,
  runEvent,
  TERMINAL,
  taskEvent,
} from "../../shared/core/events.ts";
import { fromStored, type Json, toStored } from "../../shared/core/json.ts";

const error = { code: "bug", message: "m" };
const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 };
const outcome = { status: "completed", output: null };
const at = { after: 0, digest: "d1:x" };
const call = { stepId: "s0", toolUseId: "a" };

const SHARED: Record<string, object> = {
  FactIgnored: { inboxSeq: 1, reason: "r" },
  StreamInvalidated: { fromSeq: 1, reason: "r", generation: 1 },
  CutRequested: {
    fromSeq: 1,
    reason: "r",
    generation: 1,
    calls: ["pay"],
    price: { modelCalls: 2, usd: null, simulated: false },
    instead: {
      tasks: ["w0t0"],
      digest: "d1:x",
      stands: [{ task: "w0t0", was: "r 1", now: "r 2" }],
      standing: 1,
      fresh: ["step s"],
      anew: 1,
    },
  },
  CutDecided: { decision: "keep", by: "ann", inboxSeq: 1 },
};
const TASK: Record<string, object> = {
  ...SHARED,
  TaskStarted: { attempt: 1, specDigest: "d1:x", parts: { model: "d1:x" } },
  LlmCallStarted: {
    stepId: "s0",
    requestDigest: "d1:x",
    model: "mock/script",
    purpose: "step",
    reserve: { tokens: 1, usd: 0.1 },
  },
  LlmCallCompleted: {
    stepId: "s0",
    response: {
      content: [
        { type: "text", text: "\u0000\uD83D" },
        { type: "toolUse", id: "a", name: "n", args: null, malformed: "{" },
        { type: "opaque", provider: "p", data: null },
      ],
      stopReason: "end",
      rawUsage: null,
      servedBy: "m",
    },
    usage,
    cost: { usd: 0.1, simulated: false },
  },
  LlmCallFailed: { stepId: "s0", error, retryAt: 1, goesOn: true, usage, cost: { usd: 0.1, simulated: false } },
  LlmCallAccepted: { stepId: "s0", ref: "resp_1" },
  ToolResultsElided: { toolUseIds: ["a"] },
  ContextCompacted: { folded: 3, summary: "s" },
  ApprovalRequested: { ...call, tool: "t", args: null, key: "k", expiresAt: 1, reason: "unknownOutcome" },
  ApprovalResolved: { key: "k", granted: false, by: "ann", comment: "", inboxSeq: 1 },
  InputRequested: { text: "" },
  UserMessage: { text: "\u0000", close: true, steer: true, inboxSeq: 1 },
  ToolCallStarted: {
    ...call,
    tool: "t",
    args: { __proto__x: 1 },
    idempotencyKey: "k",
    effects: "none",
    idempotency: "none",
  },
  ToolCallCompleted: {
    ...call,
    result: null,
    isError: false,
    media: [{ type: "media", kind: "pdf", fileId: "f", mediaType: "application/pdf", name: "a.pdf" }],
  },
  TaskCompleted: { result: "\uE0FF", truncated: true },
  TaskFailed: { error },
  TaskCancelled: { inboxSeq: 1, error },
};
const RUN: Record<string, object> = {
  ...SHARED,
  RunCreated: { process: "main", input: null, parent: { run: "r", depth: 1 } },
  WavePlanned: { ...at, name: "w", wave: 0, tasks: ["w0t0"], onTaskFailure: "fail", dueAt: 1 },
  TaskSettled: { op: 1, task: 0, outcome },
  WaveSettled: { op: 1, inboxSeq: 1 },
  TimerSet: { ...at, ms: 1.5, dueAt: 2 },
  TimerFired: { op: 1 },
  StepStarted: { ...at, name: "s", idempotencyKey: "k" },
  StepCompleted: { op: 1, value: null },
  StepFailed: { op: 1, error, retryAt: 1 },
  OperationReopened: { op: 1, tasks: [0], dueAt: 1, run: "r" },
  ChildStarted: { ...at, process: "p", input: null, run: "r" },
  ChildEnded: { op: 1, outcome: { status: "completed", output: null }, inboxSeq: 1 },
  SignalAwaited: { ...at, signal: "s", dueAt: 2 },
  SignalReceived: { signal: "s", value: null, inboxSeq: 1 },
  NowRead: { ...at, value: 1 },
  RandomRead: { ...at, value: 0.5 },
  TasksGivenUp: { tasks: ["w0t0"], generation: 1 },
  RunContinued: {
    process: "main",
    input: null,
    parent: { run: "r", depth: 1 },
    part: 1,
    nextWave: 2,
    absorbed: 3,
    signals: [{ signal: "s", value: null, inboxSeq: 1 }],
    idle: 1,
  },
  RunCompleted: { output: null },
  RunFailed: { error },
  RunCancelled: { inboxSeq: 1, error },
};
const raw = (type: string, payload: object, seq = 1): RawEvent => ({
  seq,
  type,
  payload: payload as RawEvent["payload"],
  recordedAt: 7,
});
const types = (union: { options: readonly { shape: { type: { value: string } } }[] }): string[] =>
  union.options.map((o) => o.shape.type.value).sort();

const both = [
  ["task", TASK, parseTaskEvents],
  ["run", RUN, parseRunEvents],
] as const;

describe("the vocabulary", () => {
  test("of these samples is whole", () => {
    expect(Object.keys(TASK).sort()).toEqual(types(taskEvent));
    expect(Object.keys(RUN).sort()).toEqual(types(runEvent));
  });

  test.each(both)("of %s streams is read back from its stored form as it was", (_, samples, parse) => {
    for (const [type, payload] of Object.entries(samples)) {
      const stored = fromStored(JSON.parse(JSON.stringify(toStored(payload as Json))));
      expect(parse([raw(type, stored as object)])).toEqual({
        ok: true,
        events: [{ type, ...payload, seq: 1, recordedAt: 7 }],
      });
    }
  });

  test.each(both)(
    "of %s streams: a field that isn't known, a missing one and a wrong one are reported",
    (_, samples, parse) => {
      for (const [type, payload] of Object.entries(samples)) {
        const good = raw(type, payload, 1);
        const reported = { ok: false, seq: 2, type };
        expect(parse([good, raw(type, { ...payload, later: 1 }, 2)])).toEqual(reported);
        for (const field of Object.keys(payload)) {
          const { [field]: _gone, ...rest } = payload as Record<string, unknown>;
          const without = parse([good, raw(type, rest, 2)]);
          if (!OPTIONAL.has(`${type}.${field}`)) expect(without).toEqual(reported);
          expect(parse([good, raw(type, { ...payload, [field]: undefined }, 2)]).ok).toBe(without.ok);
        }
      }
    },
  );

  const OPTIONAL = new Set([
    "LlmCallStarted.reserve",
    "LlmCallCompleted.cost",
    "ToolCallCompleted.media",
    "TaskCompleted.truncated",
    "OperationReopened.dueAt",
    "OperationReopened.run",
    "RunCreated.parent",
    "RunContinued.parent",
    "ChildEnded.inboxSeq",
    "SignalAwaited.dueAt",
    "WavePlanned.dueAt",
    "WaveSettled.inboxSeq",
    "TimerSet.ms",
    "StepFailed.retryAt",
    "LlmCallFailed.retryAt",
    "LlmCallFailed.goesOn",
    "LlmCallFailed.usage",
    "LlmCallFailed.cost",
    "ApprovalRequested.expiresAt",
    "ApprovalRequested.reason",
    "CutRequested.instead",
    "UserMessage.close",
    "UserMessage.steer",
  ]);

  test("strictness holds in what is nested, too", () => {
    const answer = TASK.LlmCallCompleted as { response: object };
    for (const response of [
      { ...answer.response, later: 1 },
      { ...answer.response, usage },
      { ...answer.response, content: [{ type: "image" }] },
      { ...answer.response, content: [{ type: "text", text: "x", later: 1 }] },
      { ...answer.response, stopReason: "later" },
    ])
      expect(parseTaskEvents([raw("LlmCallCompleted", { ...answer, response })]).ok).toBe(false);
    expect(parseTaskEvents([raw("TaskFailed", { error: { code: "later", message: "m" } })]).ok).toBe(false);
    expect(parseTaskEvents([raw("TaskFailed", { error: { ...error, message: "" } })]).ok).toBe(false);
    expect(parseTaskEvents([raw("LlmCallCompleted", { ...answer, usage: { ...usage, input: 0.5 } })]).ok).toBe(false);
  });

  test("an unknown type is named with its place; one of the other kind of stream is unknown", () => {
    expect(parseTaskEvents([raw("TaskStarted", TASK.TaskStarted as object), raw("FromLater", {}, 2)])).toEqual({
      ok: false,
      seq: 2,
      type: "FromLater",
    });
    expect(parseTaskEvents([raw("RunCompleted", RUN.RunCompleted as object)]).ok).toBe(false);
    expect(parseRunEvents([raw("TaskStarted", TASK.TaskStarted as object)]).ok).toBe(false);
  });

  test("terminal events are those that end a stream", () => {
    const ends = [...Object.keys(TASK), ...Object.keys(RUN)].filter((t) =>
      /^(Task|Run)(Completed|Failed|Cancelled)$/.test(t),
    );
    expect([...TERMINAL].sort()).toEqual(ends.sort());
  });

  test("facts are strict as well", () => {
    expect(fact.safeParse({ kind: "wave", wave: 0, broke: false }).success).toBe(true);
    expect(fact.safeParse({ kind: "wave", wave: 0, broke: false, later: 1 }).success).toBe(false);
    expect(fact.safeParse({ kind: "cancel", reason: "r", code: "bug" }).success).toBe(false);
    expect(fact.safeParse({ kind: "later" }).success).toBe(false);
  });
});

describe("I3: the inbox's cursor", () => {
  test("is the maximum over the raw log, cut events included", () => {
    const log = [
      raw("FactIgnored", { inboxSeq: 1, reason: "r" }, 1),
      raw("WaveSettled", { op: 1, inboxSeq: 3 }, 2),
      raw("FactIgnored", { inboxSeq: 2, reason: "r" }, 3),
      raw("StreamInvalidated", { fromSeq: 1, reason: "r", generation: 1 }, 4),
    ];
    expect(inboxCursor(log)).toBe(3);
    expect(inboxCursor([])).toBe(0);
    expect(inboxCursor([raw("TaskFailed", { error }), raw("FromLater", { inboxSeq: 9 }, 2)])).toBe(9);
  });

  test("of a long log is no matter of the stack", () => {
    const log = Array.from({ length: 200_000 }, (_, i) => raw("FactIgnored", { inboxSeq: i + 1, reason: "r" }, i + 1));
    expect(inboxCursor(log)).toBe(200_000);
  });
});
