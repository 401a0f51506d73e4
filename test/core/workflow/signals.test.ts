import { describe, expect, test } from "@jest/globals";
import type { Json } from "../../../shared/core/json.ts";
import { awaitedSignals } from "../../../shared/core/workflow/awaited.ts";
import type { WorkflowFn } from "../../../shared/core/workflow/context.ts";
import type { RunFact } from "../../../shared/core/workflow/fold.ts";
import { guardRejections } from "./guard.ts";
import { blocked, code, last, settle, signal } from "./happenings.ts";
import { World } from "./world.ts";

type Workflow = WorkflowFn<Json>;
guardRejections();

const waits = (world: World): number[] => world.ops.filter((op) => op.type === "SignalAwaited").map((op) => op.seq);
const late = (world: World, nth: number): RunFact => ({ type: "TimerFired", op: waits(world)[nth] ?? 0 });

describe("signals", () => {
  const one: Workflow = async (c) => ["got", await c.waitFor("go")];

  test("what is awaited comes, and is what the wait answers with", async () => {
    const world = new World();
    await world.tick(one);
    expect(blocked(world.outcome).pending).toEqual([{ seq: 2, type: "signal", dueAt: null }]);
    await world.tick(one, [signal("other", 1), signal("go", { n: 2 })]);
    expect(last(world)).toMatchObject({ type: "RunCompleted", output: ["got", { n: 2 }] });
  });

  test("one that comes before anybody waits is kept, and goes to one wait", async () => {
    const twice: Workflow = async (c) => [await c.ask("r", 1), await c.waitFor("go"), await c.waitFor("go")];
    const world = new World();
    await world.tick(twice);
    await world.tick(twice, [signal("go", "early")]);
    await world.tick(twice, settle(world, "r", "R"));
    expect(blocked(world.outcome).pending).toMatchObject([{ type: "signal" }]);
    expect(waits(world)).toHaveLength(2);
    await world.tick(twice, [signal("go", "later")]);
    expect(last(world)).toMatchObject({ output: ["R", "early", "later"] });
  });

  test("of several waits the one that began first gets it, of several signals the one that came first is got", async () => {
    const three: Workflow = async (c) => {
      const all = [c.waitFor("s"), c.waitFor("s")];
      await c.sleep(1);
      return await Promise.all([...all, c.waitFor("s")]);
    };
    const world = new World();
    await world.tick(three);
    await world.tick(three, [signal("s", "a")]);
    await world.tick(three, [{ type: "TimerFired", op: 4 }]);
    await world.tick(three, [signal("s", "b"), signal("s", "c")]);
    expect(last(world)).toMatchObject({ output: ["a", "b", "c"] });
  });

  test("in time or not is what the log's order says", async () => {
    const patient: Workflow = async (c) => [await c.waitFor("go", { timeoutMs: 50 }), await c.waitFor("go")];
    const world = new World();
    await world.tick(patient);
    expect(blocked(world.outcome).pending).toEqual([{ seq: 2, type: "signal", dueAt: 1_050 }]);
    await world.tick(patient, [late(world, 0), signal("go", "second")]);
    expect(last(world)).toMatchObject({ output: [null, "second"] });
    const other = new World();
    await other.tick(patient);
    await other.tick(patient, [signal("go", "first"), late(other, 0)]); // too late to be late
    expect(other.outcome.type).toBe("blocked");
    await other.tick(patient, [signal("go", "second")]);
    expect(last(other)).toMatchObject({ output: ["first", "second"] });
  });

  test("S5: a cut takes the wait, never the signal: the new code has it", async () => {
    const before: Workflow = async (c) => [await c.ask("old", 1), await c.waitFor("go"), await c.ask("last", 1)];
    const after: Workflow = async (c) => [await c.ask("new", 1), await c.waitFor("go")];
    const world = new World();
    await world.tick(before);
    await world.tick(before, [...settle(world, "old", "O"), signal("go", "kept")]);
    await world.tick(after);
    expect(world.cuts).toBe(1);
    await world.tick(after, settle(world, "new", "N"));
    expect(last(world)).toMatchObject({ output: ["N", "kept"] });
  });

  test("how patiently it waits isn't what it waits for: another time-out cuts nothing, another name does", async () => {
    const world = new World();
    const named = (name: string, timeoutMs: number): Workflow => {
      return async (c) => await c.waitFor(name, { timeoutMs });
    };
    await world.tick(named("a", 5));
    expect((await world.advance(named("a", 500))).outcome.type).toBe("blocked");
    expect((await world.advance(named("b", 5))).outcome).toMatchObject({ type: "cut", fromSeq: 2 });
  });

  test("S7: a wait that is over in the tick that ends the run is on record: others stand in its window", async () => {
    const ends: Workflow = async (c) => [await c.ask("r", 1), await c.waitFor("go"), await c.now()];
    const world = new World();
    await world.tick(ends);
    await world.tick(ends, [signal("go", 1), ...settle(world, "r", "R")]);
    expect(world.ops.map((op) => [op.type, op.after])).toEqual([
      ["WavePlanned", 0],
      ["SignalAwaited", 2],
      ["NowRead", waits(world)[0]],
    ]);
    expect((await world.advance(ends)).outcome.type).toBe("completed");
  });

  test.each<[string, Workflow, string]>([
    ["an empty name", (c) => c.waitFor(" "), "workflow.bad_argument"],
    ["a name that is too long", (c) => c.waitFor("x".repeat(201)), "workflow.bad_argument"],
    ["a time before now", (c) => c.waitFor("x", { timeoutMs: -1 }), "workflow.bad_argument"],
    ["an option that isn't there", (c) => c.waitFor("x", { timeout: 1 } as never), "workflow.bad_argument"],
  ])("%s is refused", async (_what, workflow, expected) => {
    const world = new World();
    await world.tick(workflow);
    expect(code(world)).toBe(expected);
  });
});

test("who shows a run is told the open waits by the log alone", async () => {
  const legs: Workflow = async (c) => {
    const first = c.waitFor("a");
    const second = c.waitFor("a", { timeoutMs: 10 });
    await c.waitFor("b");
    return await Promise.all([first, second, c.waitFor("c")]);
  };
  const world = new World();
  const open = (): string[] => awaitedSignals(world.log).map((wait) => wait.signal);
  await world.tick(legs);
  expect(open()).toEqual(["a", "a", "b"]);
  await world.tick(legs, [signal("c", 1), signal("a", 1)]);
  expect(open()).toEqual(["a", "b"]);
  await world.tick(legs, [signal("b", 1)]); // and c was there
  expect(open()).toEqual(["a"]);
  await world.tick(legs, [late(world, 1)]);
  expect(world.outcome.type).toBe("completed");
});
