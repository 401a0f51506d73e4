import { describe, expect, test } from "@jest/globals";
import { ERRORS, TorenError } from "../../../shared/core/errors.ts";
import type { Json } from "../../../shared/core/json.ts";
import {
  ERROR_MESSAGE_MAX_CHARS,
  PAYLOAD_MAX_BYTES,
  TIME_MAX_MS,
  WAVE_TASKS_MAX,
} from "../../../shared/core/limits.ts";
import {
  TaskFailed,
  TimedOut,
  WaveFailed,
  type WorkflowCtx,
  type WorkflowFn,
} from "../../../shared/core/workflow/context.ts";
import type { OperationFact } from "../../../shared/core/workflow/fold.ts";
import { answer, failure, World } from "./world.ts";

type Workflow = WorkflowFn<Json>;
type Ctx = WorkflowCtx<Json>;

async function run(workflow: Workflow, ...facts: OperationFact[]): Promise<World> {
  const world = new World(undefined, { topic: "x" });
  await world.tick(workflow);
  if (facts.length > 0) await world.tick(workflow, facts);
  return world;
}
const failedWith = (world: World): unknown =>
  world.outcome.type === "failed" ? world.outcome.error : world.outcome.type;
const settled = (outcome = answer("A"), op = 2): OperationFact[] => [
  { type: "TaskSettled", op, task: 0, outcome },
  { type: "WaveSettled", op },
];

/** What an author's call throws, caught in the workflow, before anything is recorded. */
async function thrownBy(call: (c: Ctx) => unknown): Promise<{ code: string; message: string }> {
  let caught: unknown;
  const world = await run(async (c) => {
    try {
      await call(c);
    } catch (e) {
      caught = e;
    }
    return 1;
  });
  expect(world.ops).toEqual([]);
  expect(world.outcome).toEqual({ type: "completed", output: 1 });
  if (!(caught instanceof TorenError)) throw new Error(`threw ${String(caught)}`);
  return { code: caught.code, message: caught.message };
}

describe("bad arguments are exceptions at the call", () => {
  const wrong: [string, string, string, (c: Ctx) => unknown][] = [
    [
      "a wave's name that isn't a string",
      "workflow.bad_argument",
      "ctx.wave: name must be a string, not number",
      (c) => c.wave(7 as never, []),
    ],
    ["an empty name", "workflow.bad_argument", "ctx.step: name is empty", (c) => c.step(" ", async () => 1)],
    [
      "a role that isn't a string",
      "workflow.bad_argument",
      "ctx.ask: role must be a string, not undefined",
      (c) => c.ask(undefined as never, 1),
    ],
    [
      "tasks that aren't an array",
      "workflow.bad_argument",
      'ctx.wave("w"): tasks must be an array, not object',
      (c) => c.wave("w", {} as never),
    ],
    [
      "a task that isn't one",
      "workflow.bad_argument",
      'ctx.wave("w"): tasks[1] must be made by ctx.task, not string',
      (c) => c.wave("w", [c.task("r", 1), "r" as never]),
    ],
    [
      "a task without a role",
      "workflow.bad_argument",
      'ctx.wave("w") tasks[0]: role must be a string, not undefined',
      (c) => c.wave("w", [{ input: 1 } as never]),
    ],
    [
      "an unknown setting for failures",
      "workflow.bad_argument",
      'ctx.wave("w"): onTaskFailure must be "fail" or "collect"',
      (c) => c.wave("w", [], { onTaskFailure: "ignore" as never }),
    ],
    [
      "an unknown option",
      "workflow.bad_argument",
      'ctx.ask("r"): unknown option timeout (known: timeoutMs)',
      (c) => c.ask("r", 1, { timeout: 5 } as never),
    ],
    [
      "an option of a later version",
      "not_in_this_version",
      'ctx.wave("w"): maxParallel is not in this version',
      (c) => c.wave("w", [], { maxParallel: 2 } as never),
    ],
    [
      "a wave too large",
      "wave.too_large",
      `ctx.wave("w"): ${WAVE_TASKS_MAX + 1} tasks; a wave has ${WAVE_TASKS_MAX} at most: plan several`,
      (c) => c.wave("w", Array(WAVE_TASKS_MAX + 1).fill(c.task("r", 1))),
    ],
    [
      "a time-out of zero",
      "workflow.bad_argument",
      `ctx.ask("r"): timeoutMs must be a number of milliseconds from 1 to ${TIME_MAX_MS}, not 0`,
      (c) => c.ask("r", 1, { timeoutMs: 0 }),
    ],
    [
      "a negative sleep",
      "workflow.bad_argument",
      `ctx.sleep: ms must be a number of milliseconds from 0 to ${TIME_MAX_MS}, not -1`,
      (c) => c.sleep(-1),
    ],
    [
      "a sleep that is no number",
      "workflow.bad_argument",
      `ctx.sleep: ms must be a number of milliseconds from 0 to ${TIME_MAX_MS}, not NaN`,
      (c) => c.sleep(Number.NaN),
    ],
    [
      "a date that is none",
      "workflow.bad_argument",
      "ctx.sleepUntil: time must be a valid Date or milliseconds since 1970",
      (c) => c.sleepUntil(new Date("nonsense")),
    ],
    [
      "a time as text",
      "workflow.bad_argument",
      "ctx.sleepUntil: time must be a valid Date or milliseconds since 1970",
      (c) => c.sleepUntil("2030-01-01" as never),
    ],
    [
      "a step without code",
      "workflow.bad_argument",
      'ctx.step("s"): the second argument must be a function, not undefined',
      (c) => c.step("s", undefined as never),
    ],
    [
      "half an attempt",
      "workflow.bad_argument",
      'ctx.step("s"): attempts must be a whole number from 1, not 0.5',
      (c) => c.step("s", async () => 1, { attempts: 0.5 }),
    ],
    [
      "input that isn't JSON",
      "workflow.not_json",
      'ctx.ask("r"): input $.rows[1].run is a function, which JSON can\'t hold',
      (c) => c.ask("r", { rows: [1, { run: () => 1 }] } as never),
    ],
    [
      "a task's input that isn't JSON",
      "workflow.not_json",
      "ctx.task: input $ is a BigInt, which JSON can't hold",
      (c) => c.task("r", 1n as never),
    ],
    [
      "a promise as input",
      "workflow.not_json",
      'ctx.ask("r"): input $ is a promise (an await is missing), which JSON can\'t hold',
      (c) => c.ask("r", Promise.resolve(1) as never),
    ],
    [
      "an input too large",
      "payload.too_large",
      `the input of a task for role r has ${PAYLOAD_MAX_BYTES + 23} bytes; at most ${PAYLOAD_MAX_BYTES} are allowed`,
      (c) => c.ask("r", "x".repeat(PAYLOAD_MAX_BYTES)),
    ],
  ];
  test.each(wrong)("%s: %s", async (_, code, message, call) => {
    expect(await thrownBy(call)).toEqual({ code, message });
  });

  test("uncaught they fail the run with their code", async () => {
    const world = await run(async (c) => (await c.sleep(-1)) ?? null);
    expect(failedWith(world)).toMatchObject({ code: "workflow.bad_argument" });
  });

  test("looked at later, or never, they end nothing", async () => {
    const world = await run(async (c) => {
      void c.sleep(-1);
      const later = c.ask("", 1);
      await c.now();
      return await later.catch(() => "caught");
    });
    expect(world.outcome).toEqual({ type: "completed", output: "caught" });
  });
});

describe("c11: first run sees what a replay will see", () => {
  test("input, outputs and results are copies: whoever changes them changes neither the log nor the next execution", async () => {
    const seen: string[] = [];
    const workflow: Workflow = async (c) => {
      const { results } = await c.wave("w", [c.task("r", 1)]);
      const step = await c.step("s", async () => ({ n: [1] }));
      seen.push(JSON.stringify([c.input, results, step]));
      (c.input as { topic: string }).topic = "changed";
      (results[0] as unknown as { output: { list: number[] } }).output.list.push(4);
      step.n.push(2);
      await c.sleep(1);
      return 1;
    };
    const world = await run(workflow, ...settled(answer({ list: [3] })));
    await world.tick(workflow, [{ type: "StepCompleted", op: 5, value: { n: [1] } }]);
    await world.tick(workflow);
    expect(new Set(seen).size).toBe(1);
    expect(world.input).toEqual({ topic: "x" });
    expect(seen).toHaveLength(2);
  });

  test("an ask's output is a copy too", async () => {
    const world = await run(
      async (c) => {
        const output = await c.ask<number[]>("r", 1);
        output.push(4);
        return output;
      },
      ...settled(answer([3])),
    );
    expect(world.outcome).toEqual({ type: "completed", output: [3, 4] });
    expect(world.raw[2]).toMatchObject({ outcome: answer([3]) });
  });

  test("a request is what it was at the call, whatever becomes of the object", async () => {
    const world = await run(async (c) => {
      const input = { list: [1] };
      const task = c.task("r", input);
      input.list.push(2);
      const wave = c.wave("w", [task, { role: "r", input }]);
      input.list.push(3);
      return (await wave).results.length;
    });
    expect([...world.contents.values()]).toEqual(['["r",{"list":[1]}]', '["r",{"list":[1,2]}]']);
  });

  test("what it returned is what it was then", async () => {
    const world = await run(async (c) => {
      const output = {
        list: [1],
        at: new Date(0),
        none: undefined,
        zero: -0,
        nan: Number.NaN,
        map: new Map([["k", 1]]),
      };
      void (async () => {
        for (let i = 0; i < 20; i++) await Promise.resolve();
        output.list.push(2);
      })();
      void c;
      return output as unknown as Json;
    });
    const output = { at: "1970-01-01T00:00:00.000Z", list: [1], map: { k: 1 }, nan: null, zero: 0 };
    expect(world.outcome).toEqual({ type: "completed", output });
    expect(world.raw.at(-1)).toMatchObject({ type: "RunCompleted", output });
  });

  test("the order of keys is no content", async () => {
    const world = await run(async (c) => (await c.ask("r", { b: 1, a: { d: 1, c: 2 } })) ?? null);
    const other: Workflow = async (c) => await c.ask("r", { a: { c: 2, d: 1 }, b: 1 });
    expect((await world.advance(other)).decisions).toEqual([]);
  });
});

describe("how a run fails", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = { again: cycle };
  const notJson: [string, unknown, string][] = [
    ["a BigInt", { n: [1, 2n] }, "$.n[1] is a BigInt"],
    ["a function", { f: () => 1 }, "$.f is a function"],
    ["a cycle", cycle, "$.self.again is part of a cycle"],
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
    const world = await run(ask, ...settled(failure("would rather not")));
    expect(failedWith(world)).toEqual({ code: "model.refused", message: "task w0t0 failed: would rather not" });
    const caught = await run(
      async (c) => {
        const e: unknown = await c.ask("writer", 1).catch((thrown: unknown) => thrown);
        return e instanceof TaskFailed && !(e instanceof WaveFailed) ? [e.code, e.taskId] : null;
      },
      ...settled(failure("no")),
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
      ...settled(failure("no")),
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

test("ctx knows its run", async () => {
  const world = await run(async (c) => [c.runId, c.input]);
  expect(world.outcome).toEqual({ type: "completed", output: ["run-1", { topic: "x" }] });
});
