import { describe, expect, test } from "@jest/globals";
import { TorenError } from "../../../shared/core/errors.ts";
import type { Json } from "../../../shared/core/json.ts";
import { PARALLEL_MAX, PAYLOAD_MAX_BYTES, TIME_MAX_MS, WAVE_TASKS_MAX } from "../../../shared/core/limits.ts";
import type { WorkflowCtx } from "../../../shared/core/workflow/context.ts";
import { failedWith, run } from "./happenings.ts";

type Ctx = WorkflowCtx<Json>;

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
      "no task at once",
      "workflow.bad_argument",
      `ctx.wave("w"): maxParallel must be a whole number from 1 to ${PARALLEL_MAX}, not 0`,
      (c) => c.wave("w", [], { maxParallel: 0 }),
    ],
    [
      "half a task at once",
      "workflow.bad_argument",
      `ctx.wave("w"): maxParallel must be a whole number from 1 to ${PARALLEL_MAX}, not 1.5`,
      (c) => c.wave("w", [], { maxParallel: 1.5 }),
    ],
    [
      "a bound of an ask, which is one task",
      "workflow.bad_argument",
      'ctx.ask("r"): unknown option maxParallel (known: timeoutMs)',
      (c) => c.ask("r", 1, { maxParallel: 2 } as never),
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
