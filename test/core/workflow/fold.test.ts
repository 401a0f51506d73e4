import { describe, expect, test } from "@jest/globals";
import type { Recorded, RunEvent } from "../../../shared/core/events.ts";
import { effective, foldRun } from "../../../shared/core/workflow/fold.ts";

const log = (...events: RunEvent[]): Recorded<RunEvent>[] =>
  events.map((e, i) => ({ ...e, seq: i + 1, recordedAt: 0 }));
const created: RunEvent = { type: "RunCreated", process: "main", input: null };
const wave = (n: number, ...tasks: string[]): RunEvent => ({
  type: "WavePlanned",
  after: 0,
  digest: `d${n}`,
  name: `wave${n}`,
  wave: n,
  tasks,
  onTaskFailure: "fail",
});
const timer = (digest: string, dueAt: number): RunEvent => ({ type: "TimerSet", after: 0, digest, ms: 1, dueAt });
const cut = (fromSeq: number): RunEvent => ({ type: "StreamInvalidated", fromSeq, reason: "edited", generation: 1 });
const done = (op: number): RunEvent => ({ type: "WaveSettled", op, inboxSeq: op });
const seqs = (events: readonly { seq: number }[]): number[] => events.map((e) => e.seq);

describe("the run stream's fold", () => {
  test("S5: a cut removes operations, with their completions, and endings; never the facts of operations before it", () => {
    const raw = log(
      created,
      wave(0, "w0t0"),
      wave(1, "w1t0"),
      done(3),
      done(2),
      { type: "FactIgnored", inboxSeq: 9, reason: "late" },
      { type: "RunCompleted", output: 1 },
      cut(3),
    );
    expect(seqs(effective(raw))).toEqual([1, 2, 5, 6]);
  });

  test("cuts of cuts: each removes from what stands, and what came after it stays", () => {
    const raw = log(created, wave(0, "a"), wave(1, "b"), cut(3), wave(2, "b"), cut(2), wave(3, "a", "b"));
    const history = foldRun(raw);
    expect(seqs(history.log)).toEqual([1, 7]);
    expect(history.cutPlans.map((p) => p.name)).toEqual(["wave0", "wave1", "wave2"]); // in creation order
    expect([...history.taken]).toEqual(["a", "b"]);
    expect([...history.plans.keys()]).toEqual([3]);
    expect(history.nextWave).toBe(4);
    expect(history.head).toBe(7);
  });

  test("wave numbers exceed any in the raw log, cut ones too", () => {
    expect(foldRun(log(created, wave(0), wave(5), cut(2))).nextWave).toBe(6);
    expect(foldRun(log(created)).nextWave).toBe(0);
  });

  test("operations are over when what completes them is on record", () => {
    const raw = log(
      created,
      wave(0, "a"),
      wave(1, "b"),
      { type: "TaskSettled", op: 2, task: 0, outcome: { status: "completed", output: 1 } },
      done(3),
      { type: "StepStarted", after: 0, digest: "s", name: "s", idempotencyKey: "k" },
      { type: "StepFailed", op: 6, error: { code: "step.failed", message: "x" }, retryAt: 5 },
    );
    expect([...foldRun(raw).over]).toEqual([3]);
  });

  test("due times of cut timers are spare until a timer with the same digest has taken them", () => {
    const raw = log(created, timer("x", 10), timer("x", 20), timer("y", 30), cut(2));
    expect(foldRun(raw).spareDueTimes.get("x")).toEqual([10, 20]);
    const again = [...raw, { ...timer("x", 10), seq: 6, recordedAt: 0 }];
    expect(foldRun(again).spareDueTimes.get("x")).toEqual([20]);
    expect(foldRun(again).spareDueTimes.get("y")).toEqual([30]);
  });

  test("I1: the fold of a log is the fold of its prefix and the rest", () => {
    const raw = log(
      created,
      wave(0, "a"),
      wave(1, "b"),
      done(2),
      cut(3),
      wave(2, "c"),
      done(6),
      timer("x", 5),
      cut(6),
      { type: "RunCompleted", output: 1 },
    );
    for (let n = 1; n <= raw.length; n++) {
      const prefix = effective(raw.slice(0, n));
      expect(effective([...prefix, ...raw.slice(n)])).toEqual(effective(raw));
    }
  });
});
