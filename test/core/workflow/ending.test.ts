import { describe, expect, test } from "@jest/globals";
import { ERRORS } from "../../../shared/core/errors.ts";
import type { Json } from "../../../shared/core/json.ts";
import { ERROR_MESSAGE_MAX_CHARS, PAYLOAD_MAX_BYTES } from "../../../shared/core/limits.ts";
import { TaskFailed, TimedOut, WaveFailed, type WorkflowFn } from "../../../shared/core/workflow/context.ts";
import { failedWith, firstSettled, run } from "./happenings.ts";
import { failure } from "./world.ts";

type Workflow = WorkflowFn<Json>;

describe("how a run fails", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = { again: cycle };
  const notJson: [string, unknown, string][] = [
    ["a BigInt", { n: [1, 2n] }, "$.n[1] is a BigInt"],
    ["a function", { f: () => 1 }, "$.f is a function"],
    ["a cycle", cycle, "$.self.again is part of a cycle"],
    ["an async generator", (async function* () {})(), "$ is an iterator (collect what it yields into a list)"],
    ["a generator", { rows: (function* () {})() }, "$.rows is an iterator (collect what it yields into a list)"],
    ["a promise", [Promise.resolve(1)], "$[0] is a promise (an await is missing)"],
  ];
  test.each(notJson)("returning %s: workflow.not_json, with the path", async (_, value, what) => {
    const world = await run(async () => value as Json);
    const message = `what the workflow returned is not JSON: ${what}, which JSON can't hold`;
    expect(failedWith(world)).toEqual({ code: "workflow.not_json", message });
  });

  test("c12: returning more than a payload may hold: size and limit named", async () => {
    const world = await run(async () => "x".repeat(PAYLOAD_MAX_BYTES));
    const message = `what the workflow returned has ${PAYLOAD_MAX_BYTES + 2} bytes; at most ${PAYLOAD_MAX_BYTES} are allowed`;
    expect(failedWith(world)).toEqual({ code: "payload.too_large", message });
  });

  class Silent extends Error {}
  const thrown: [string, unknown, string][] = [
    ["an error", new TypeError("no such thing"), "no such thing"],
    ["text", "just text", "just text"],
    ["an error without a message", new Silent(), "Error"],
    ["nothing", undefined, "undefined"],
    ["blanks", "  ", "failed without a message"],
    ["what can't be shown", Object.create(null), "threw a value that can't be shown"],
    ["a code that isn't ours", Object.assign(new Error("x"), { code: "ENOENT" }), "x"],
    ["a very long text", "y".repeat(100_000), "y".repeat(ERROR_MESSAGE_MAX_CHARS)],
  ];
  test.each(thrown)("throwing %s: workflow.threw, never an empty message", async (_, value, message) => {
    const world = await run(async () => {
      throw value;
    });
    expect(failedWith(world)).toEqual({ code: "workflow.threw", message });
    expect(Object.keys(world.raw.at(-1) ?? {}).sort()).toEqual(["error", "recordedAt", "seq", "type"]); // no stack
  });

  test("throwing before the first await", async () => {
    const world = await run(() => {
      throw new Error("at once");
    });
    expect(failedWith(world)).toEqual({ code: "workflow.threw", message: "at once" });
  });

  test("a task's failure is TaskFailed with code and task; uncaught it is the run's code", async () => {
    const ask: Workflow = async (c) => await c.ask("writer", 1);
    const world = await run(ask, ...firstSettled(failure("would rather not")));
    expect(failedWith(world)).toEqual({ code: "model.refused", message: "task w0t0 failed: would rather not" });
    const caught = await run(
      async (c) => {
        const e: unknown = await c.ask("writer", 1).catch((thrown: unknown) => thrown);
        return e instanceof TaskFailed && !(e instanceof WaveFailed) ? [e.code, e.taskId] : null;
      },
      ...firstSettled(failure("no")),
    );
    expect(caught.outcome).toEqual({ type: "completed", output: ["model.refused", "w0t0"] });
  });

  test("an ask that times out", async () => {
    const world = await run(async (c) => await c.ask("writer", 1, { timeoutMs: 5 }), { type: "TimerFired", op: 2 });
    const message = "task w0t0 failed: not ended within the wave's time-out";
    expect(failedWith(world)).toEqual({ code: "task.timeout", message });
  });

  test("a wave's failure is WaveFailed with all results", async () => {
    const world = await run(
      async (c) => {
        const e: unknown = await c.wave("w", [c.task("r", 1), c.task("r", 2)]).catch((thrown: unknown) => thrown);
        return e instanceof WaveFailed ? (e.results as unknown as Json) : null;
      },
      ...firstSettled(failure("no")),
    );
    const results = [
      { taskId: "w0t0", status: "failed", error: "model.refused: no" },
      { taskId: "w0t1", status: "failed", error: "task.cancelled: another task of the wave failed" },
    ];
    expect(world.outcome).toEqual({ type: "completed", output: results });
  });

  test("a step's failure keeps its message; a time-out is TimedOut", async () => {
    const step: Workflow = async (c) => await c.step("s", async () => 1);
    const fails = await run(step, { type: "StepFailed", op: 2, error: { code: "step.failed", message: "disk full" } });
    expect(failedWith(fails)).toEqual({ code: "step.failed", message: "disk full" });
    const error = { code: "step.timeout", message: "step s took longer than 5 ms" } as const;
    expect(failedWith(await run(step, { type: "StepFailed", op: 2, error }))).toEqual(error);
    const caught = await run(
      async (c) => {
        const e: unknown = await c.step("s", async () => 1).catch((thrown: unknown) => thrown);
        return e instanceof TimedOut;
      },
      { type: "StepFailed", op: 2, error },
    );
    expect(caught.outcome).toEqual({ type: "completed", output: true });
  });

  test("every code that a workflow's end can have is in the table", () => {
    for (const code of [
      "wave.failed",
      "workflow.threw",
      "workflow.not_json",
      "workflow.bad_argument",
      "workflow.foreign_await",
    ]) {
      expect(ERRORS).toHaveProperty([code]);
    }
  });
});
