import { describe, expect, test } from "@jest/globals";
import type { Json } from "../../../shared/core/json.ts";
import type { WorkflowFn } from "../../../shared/core/workflow/context.ts";
import { blocked, fired, settle } from "./happenings.ts";
import { World } from "./world.ts";

type Workflow = WorkflowFn<Json>;

describe("steps, timers, reads", () => {
  test("a step that will be tried again stays pending, its function at hand", async () => {
    const fn = async (): Promise<number> => 1;
    const workflow: Workflow = async (c) => await c.step("s", fn, { attempts: 5 });
    const world = new World();
    const first = blocked(await world.tick(workflow)).steps[0];
    expect(first).toEqual({
      seq: 2,
      name: "s",
      fn,
      attempts: 5,
      timeoutMs: 300_000,
      idempotencyKey: expect.any(String),
      failures: 0,
      retryAt: null,
    });
    await world.tick(workflow, [
      { type: "StepFailed", op: 2, error: { code: "step.failed", message: "again" }, retryAt: 5 },
    ]);
    expect(blocked(world.outcome).steps[0]).toMatchObject({
      fn,
      failures: 1,
      retryAt: 5,
      idempotencyKey: first?.idempotencyKey,
    });
    await world.tick(workflow, [{ type: "StepCompleted", op: 2, value: 7 }]);
    expect(world.outcome).toEqual({ type: "completed", output: 7 });
  });

  test("steps keep their idempotency keys through a cut, by name and how-manieth; others have others", async () => {
    const steps =
      (input: number, more: string[] = []): Workflow =>
      async (c) => {
        await c.ask("a", input);
        for (const name of ["s", "s", "t", ...more]) void c.step(name, async () => 1);
        await c.sleep(9e9);
        return 1;
      };
    const keys = (world: World): (string | false)[] =>
      world.ops.map((op) => op.type === "StepStarted" && op.idempotencyKey).filter(Boolean);
    const world = new World();
    await world.tick(steps(1));
    await world.tick(steps(1), settle(world, "a", 1));
    const before = keys(world);
    expect(new Set(before).size).toBe(3);
    await world.tick(steps(2, ["s"]));
    expect(keys(world)).toEqual([]);
    await world.tick(steps(2, ["s"]), settle(world, "a", 1));
    expect(world.cuts).toBe(1);
    expect(keys(world).slice(0, 3)).toEqual(before);
    expect(before).not.toContain(keys(world)[3]);
  });

  test("a timer keeps its due time when a cut makes the workflow set it again; a new one of equal length doesn't take it", async () => {
    const naps =
      (input: number, n: number): Workflow =>
      async (c) => {
        await c.ask("a", input);
        await Promise.all(Array.from({ length: n }, () => c.sleep(500)));
        return 1;
      };
    const due = (world: World): number[] => world.ops.flatMap((op) => (op.type === "TimerSet" ? [op.dueAt] : []));
    const world = new World();
    await world.tick(naps(1, 2));
    await world.tick(naps(1, 2), settle(world, "a", 1));
    expect(due(world)).toEqual([1_500, 1_500]);
    for (const [edit, now] of [
      [2, 3_000],
      [3, 4_000],
    ] as const) {
      world.now = now;
      await world.tick(naps(edit, 3));
      await world.tick(naps(edit, 3), settle(world, "a", 1));
      expect(due(world)).toEqual([1_500, 1_500, 3_500]); // also through a second cut: each due time goes to one timer
    }
    expect(world.cuts).toBe(2);
  });

  test("I4: times and random numbers are read once and stay", async () => {
    const workflow: Workflow = async (c) => {
      const read = [await c.now(), await c.random(), await c.random()];
      await c.sleep(1.5);
      return read;
    };
    const world = new World();
    world.now = 1_234.5;
    await world.tick(workflow);
    const values = world.ops.flatMap((op) => ("value" in op ? [op.value] : []));
    expect(values[0]).toBe(1_234);
    expect(values[1]).not.toBe(values[2]);
    for (const value of values.slice(1)) expect(value >= 0 && value < 1).toBe(true);
    expect(blocked(world.outcome).pending[0]?.dueAt).toBe(1_236);
    world.now = 9_999;
    world.seed = "another";
    await world.tick(workflow, [fired(world, 0)]);
    expect(world.outcome).toEqual({ type: "completed", output: values });
  });
});
