import { describe, expect, test } from "@jest/globals";
import {
  askedIn,
  inUseIn,
  readTasks,
  recordedIn,
  researchMoment,
  resumed,
  type TaskLog,
  writerMoment,
} from "../../../local/demo/moments.ts";
import type { Json } from "../../../shared/core/json.ts";
import type { StreamRow } from "../../../shared/ports/store.ts";

const researcher = (taskId: string, task: Partial<TaskLog> = {}): TaskLog => ({
  taskId,
  role: "researcher",
  outcome: null,
  asked: 0,
  recorded: 0,
  inUse: 0,
  inFlight: false,
  writers: 1,
  ...task,
});
const writer = (task: Partial<TaskLog> = {}): TaskLog => ({ ...researcher("w2t0", task), role: "writer" });
const done = { outcome: "completed", asked: 3, recorded: 3 } as const;
const asking = { inFlight: true, asked: 3, recorded: 2 } as const;
const at = (...tasks: TaskLog[]) => ({ ended: false, tasks });

describe("the moment of the first kill", () => {
  test("comes when two researchers are recorded and another one's call is in flight", () => {
    const third = researcher("w1t2", asking);
    const moment = researchMoment(at(researcher("w1t0", done), researcher("w1t1", done), third));
    expect(moment).toEqual({ type: "now", ended: 2, of: 3, inFlight: [third] });
  });

  test.each([
    ["before there are researchers", at()],
    ["while one alone is recorded", at(researcher("a", done), researcher("b", asking), researcher("c", asking))],
    ["while the third works on its tools", at(researcher("a", done), researcher("b", done), researcher("c"))],
    [
      "while the third has no answer to lose",
      at(researcher("a", done), researcher("b", done), researcher("c", { inFlight: true, asked: 1 })),
    ],
  ])("is waited for %s", (_when, reading) => {
    expect(researchMoment(reading)).toEqual({ type: "wait" });
  });

  test("is missed when all researchers have ended, or the run has", () => {
    const all = [researcher("a", done), researcher("b", done), researcher("c", { outcome: "failed" })];
    expect(researchMoment(at(...all))).toEqual({ type: "missed" });
    expect(researchMoment({ ended: true, tasks: [] })).toEqual({ type: "missed" });
  });

  test("needs fewer of them where there are fewer", () => {
    expect(researchMoment(at(researcher("a", done), researcher("b", asking)))).toMatchObject({ ended: 1, of: 2 });
    expect(researchMoment(at(researcher("a", asking)))).toMatchObject({ type: "now", ended: 0, of: 1 });
    expect(researchMoment(at(researcher("a", { inFlight: true, asked: 1 })))).toEqual({ type: "wait" });
  });
});

describe("the moment of the second kill", () => {
  test("comes when the writer's call is in flight", () => {
    expect(writerMoment(at(researcher("a", asking)))).toEqual({ type: "wait" });
    expect(writerMoment(at(writer()))).toEqual({ type: "wait" });
    expect(writerMoment(at(writer({ inFlight: true, asked: 1 })))).toMatchObject({ type: "now" });
    expect(writerMoment(at(writer(done)))).toEqual({ type: "missed" });
  });
});

describe("what the log says of a task", () => {
  const stream = (streamId: string, outcome: StreamRow["outcome"] = null): StreamRow => ({
    streamId,
    outcome,
    role: streamId === "run" ? null : "researcher",
    status: "running",
    wait: null,
    wakeAt: null,
    attempts: 1,
    wave: 1,
    headSeq: 9,
    sealedSeq: 0,
    copiedSeq: 0,
    problem: null,
  });
  const log = (...types: (string | { cutFrom: number })[]) =>
    types.map((type, i) => {
      const cut = typeof type !== "string";
      const payload: Record<string, Json> = cut ? { fromSeq: type.cutFrom } : {};
      return {
        streamId: "task:w1t0",
        event: { seq: i + 1, type: cut ? "StreamInvalidated" : type, payload, recordedAt: 0 },
      };
    });

  test("a question without an answer is in flight, until its task has ended", () => {
    const calls = log("TaskStarted", "LlmCallStarted", "LlmCallCompleted", "ToolCallStarted", "LlmCallStarted");
    const [task] = readTasks([stream("run"), stream("task:w1t0")], calls);
    expect(task).toMatchObject({ taskId: "w1t0", asked: 2, recorded: 1, inUse: 1, inFlight: true, writers: 1 });
    expect(readTasks([stream("task:w1t0", "cancelled")], calls)[0]).toMatchObject({ inFlight: false });
  });

  test("an answer that a cut took out of use stays paid", () => {
    const calls = log(
      "TaskStarted",
      "LlmCallStarted",
      "LlmCallCompleted",
      "LlmCallStarted",
      "LlmCallCompleted",
      { cutFrom: 4 },
      "TaskStarted",
      "LlmCallStarted",
      "LlmCallCompleted",
    );
    const reading = at(...readTasks([stream("task:w1t0")], calls));
    expect([askedIn(reading), recordedIn(reading), inUseIn(reading)]).toEqual([3, 3, 2]);
  });

  test("a task is resumed when a writer more than before has taken it", () => {
    const left = [researcher("a", asking), researcher("b", asking)];
    const now = at(researcher("a", { ...asking, writers: 2 }), researcher("b", asking));
    expect(resumed(left, now).map(({ taskId }) => taskId)).toEqual(["a"]);
  });
});
