import { describe, expect, test } from "@jest/globals";
import type { Recorded, RunEvent } from "../../../shared/core/events.ts";
import { CUT_INPUT_CHARS } from "../../../shared/core/limits.ts";
import { foldRun } from "../../../shared/core/workflow/fold.ts";
import type { TickPlan } from "../../../shared/core/workflow/plan.ts";
import { dropped, inWords, newWork } from "../../../shared/core/workflow/repeat.ts";

const log = (...events: RunEvent[]): Recorded<RunEvent>[] =>
  events.map((e, i) => ({ ...e, seq: i + 1, recordedAt: 0 }));
const created: RunEvent = { type: "RunCreated", process: "main", input: null };
const wave = (n: number, ...tasks: string[]): RunEvent => ({
  type: "WavePlanned",
  after: 0,
  digest: `d${n}`,
  name: "w",
  wave: n,
  tasks,
  onTaskFailure: "fail",
});
const cut: RunEvent = { type: "StreamInvalidated", fromSeq: 2, reason: "edited", generation: 2 };
const step = (name: string, idempotencyKey: string): RunEvent => ({
  type: "StepStarted",
  after: 0,
  digest: name,
  name,
  idempotencyKey,
});
const plan = (events: RunEvent[], fresh: [string, string][] = [], claimed: string[] = []): TickPlan => ({
  events,
  waves: [
    {
      wave: 7,
      onTaskFailure: "fail",
      maxParallel: null,
      fresh: fresh.map(([role, input], i) => ({ taskId: `w7t${i}`, role, input, digest: `d:${input}` })),
      claimed,
    },
  ],
  children: [],
  adopted: [],
  standIns: [],
});

describe("I6b: tasks that were dropped", () => {
  test("are those of cut plans that no plan holds, this one included", () => {
    const history = foldRun(log(created, wave(0, "a", "b", "c"), cut, wave(1, "b")));
    expect(dropped(history, plan([], [], ["c"]), 2).tasks).toEqual(["a"]);
  });

  test("those that somebody gave up aren't asked about again, until another edit", () => {
    const givenUp: RunEvent = { type: "TasksGivenUp", tasks: ["a"], generation: 2 };
    const history = foldRun(log(created, wave(0, "a", "b"), cut, givenUp));
    expect(dropped(history, plan([]), 2).tasks).toEqual(["b"]);
    expect(dropped(history, plan([]), 3).tasks).toEqual(["a", "b"]);
  });
});

describe("I6b: new work that could do something again", () => {
  const acts = (role: string | null) => role === "mailer";

  test("is what asks a role with such a tool, and what is taken over is none", () => {
    const asked: [string, string][] = [
      ["mailer", "to Ann"],
      ["writer", "a poem"],
    ];
    expect(newWork(plan([], asked, ["w0t0"]), [], acts)).toEqual([{ words: 'mailer "to Ann"', digest: "d:to Ann" }]);
  });

  test("is a step that never began: one that begins again has its key", () => {
    const raw = log(created, step("send", "k1"), cut);
    expect(newWork(plan([step("send", "k1"), step("post", "k2")]), raw, acts)).toEqual([
      { words: "step post", digest: "k2" },
    ]);
  });

  test("is told in a line, however long its input", () => {
    const words = inWords("mailer", { to: "😀".repeat(1_000) });
    expect(words.length).toBeLessThanOrEqual("mailer ".length + CUT_INPUT_CHARS + 1);
    expect(words.isWellFormed()).toBe(true);
  });
});
