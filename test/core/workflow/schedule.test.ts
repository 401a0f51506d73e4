import { readFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import type { RunEvent } from "../../../shared/core/events.ts";
import type { Json } from "../../../shared/core/json.ts";
import type { WorkflowFn } from "../../../shared/core/workflow/context.ts";
import type { OperationFact } from "../../../shared/core/workflow/fold.ts";
import type { Outcome } from "../../../shared/core/workflow/schedule.ts";
import { guardRejections } from "./guard.ts";
import { answer, failure, type Op, World } from "./world.ts";

type Workflow = WorkflowFn<Json>;
const guard = guardRejections();

/** The last planned wave of this name. */
const waveOf = (world: World, name: string): Op & { type: "WavePlanned" } => {
  const op = world.ops.findLast((o) => o.type === "WavePlanned" && o.name === name);
  if (op?.type !== "WavePlanned") throw new Error(`no wave ${name}`);
  return op;
};
const settle = (world: World, name: string, ...outputs: (Json | Error)[]): OperationFact[] => {
  const op = waveOf(world, name).seq;
  const outcomes = outputs.map((o) => (o instanceof Error ? failure(o.message) : answer(o)));
  return [
    ...outcomes.map((outcome, task): OperationFact => ({ type: "TaskSettled", op, task, outcome })),
    { type: "WaveSettled", op },
  ];
};
const fired = (world: World, nth: number): OperationFact => {
  const timers = world.ops.filter((op) => op.type === "TimerSet");
  return { type: "TimerFired", op: timers[nth]?.seq ?? 0 };
};
const blocked = (outcome: Outcome): Extract<Outcome, { type: "blocked" }> => {
  if (outcome.type !== "blocked") throw new Error(JSON.stringify(outcome));
  return outcome;
};
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));
const last = (world: World): RunEvent | undefined => world.raw.at(-1);
const code = (world: World): string =>
  world.outcome.type === "failed" ? world.outcome.error.code : world.outcome.type;

describe("races and branches", () => {
  const race: Workflow = async (c) => await c.ask("next", await Promise.race([c.ask("x", 1), c.ask("y", 2)]));

  test("a race's winner follows from the log's order, and the loser stays on record", async () => {
    const world = new World();
    await world.tick(race);
    await world.tick(race, [...settle(world, "y", "Y"), ...settle(world, "x", "X")]);
    expect(world.ops.map((op) => op.type === "WavePlanned" && op.name)).toEqual(["x", "y", "next"]);
    expect(world.contents.get("w2t0")).toBe('["next","Y"]');
    const padded: Workflow = async (c) => {
      const helper = async (): Promise<string> => {
        for (let i = 0; i < 3; i++) await Promise.resolve();
        return await c.ask("y", 2);
      };
      return await c.ask("next", await Promise.race([c.ask("x", 1), helper()]));
    };
    expect((await world.advance(padded)).outcome.type).toBe("blocked");
  });

  test("S1: branches with unequal numbers of awaits keep their places: the same log, however completions are grouped", async () => {
    const legs: Workflow = async (c) =>
      await Promise.all(
        [0, 1, 2].map(async (i) => {
          const first = await c.ask(`first${i}`, i);
          for (let k = 5 - i; k > 0; k--) await Promise.resolve();
          return await c.ask(`second${i}`, first);
        }),
      );
    const order = ["first2", "first0", "first1"];
    const single = new World();
    await single.tick(legs);
    for (const name of order) await single.tick(legs, settle(single, name, name));
    const grouped = new World();
    await grouped.tick(legs);
    await grouped.tick(
      legs,
      order.flatMap((name) => settle(grouped, name, name)),
    );
    const names = (w: World): unknown => w.ops.map((op) => [op.type === "WavePlanned" && op.name, op.after]);
    expect(names(grouped)).toEqual([
      ["first0", 0],
      ["first1", 0],
      ["first2", 0],
      ["second2", 4],
      ["second0", 2],
      ["second1", 3],
    ]);
    expect(new Set(names(single) as unknown[])).toEqual(new Set(names(grouped) as unknown[]));
    for (const world of [single, grouped]) {
      const again = await world.advance(legs);
      expect(again).toMatchObject({ decisions: [], outcome: { type: "blocked" } });
    }
  });

  test("what cuts although nobody meant it: equal operations in one window whose order is exchanged", async () => {
    const two =
      (pads: number): Workflow =>
      async (c) => {
        const leg = async (name: string, i: number): Promise<string> => {
          for (let k = i === 0 ? pads : 0; k > 0; k--) await Promise.resolve();
          await c.sleep(5);
          return await c.ask(name, 1);
        };
        return (await Promise.all(["a", "b"].map(leg))).join();
      };
    const world = new World();
    await world.tick(two(0));
    await world.tick(two(0), [fired(world, 0)]);
    expect((await world.advance(two(0))).outcome.type).toBe("blocked");
    expect((await world.advance(two(1))).outcome).toMatchObject({ type: "cut", fromSeq: waveOf(world, "a").seq });
  });

  test("what cuts although nobody meant it: branches woken by one completion that share a variable", async () => {
    const two =
      (pads: number): Workflow =>
      async (c) => {
        const p = c.ask("p", 1);
        const seen: string[] = [];
        const leg = async (name: string, n: number): Promise<void> => {
          await p;
          for (let k = n; k > 0; k--) await Promise.resolve();
          seen.push(name);
        };
        await Promise.all([leg("a", pads), leg("b", 0)]);
        return await c.ask("q", seen);
      };
    const world = new World();
    await world.tick(two(0));
    await world.tick(two(0), settle(world, "p", 1));
    expect((await world.advance(two(0))).outcome.type).toBe("blocked");
    expect((await world.advance(two(1))).outcome).toMatchObject({ type: "cut", fromSeq: waveOf(world, "q").seq });
  });
});

describe("rejections", () => {
  const direct: Workflow = async (c) => {
    const a = c.wave("a", [c.task("r", 1)]);
    await c.sleep(1);
    return await a.then(
      () => "no",
      () => "caught",
    );
  };
  const helper: Workflow = async (c) => {
    const a = (async () => await c.ask("a", 1))();
    await c.sleep(1);
    return await a.then(
      () => "no",
      () => "caught",
    );
  };
  test.each([
    ["ctx's promise", direct, 0],
    ["the author's own, seen by the worker's guard", helper, 1],
  ])("a rejection while something else is awaited is caught later: %s", async (_, workflow, seen) => {
    const world = new World();
    await turn();
    const before = guard.swallowed;
    await world.tick(workflow);
    await world.tick(workflow, settle(world, "a", new Error("boom")));
    await turn();
    expect(world.outcome.type).toBe("blocked");
    expect(guard.swallowed - before).toBe(seen);
    await world.tick(workflow, [fired(world, 0)]);
    expect(world.outcome).toEqual({ type: "completed", output: "caught" });
  });
});

describe("S8: awaiting what isn't ctx", () => {
  const elsewhere: [string, boolean, () => Promise<unknown>][] = [
    ["a timer", true, () => new Promise((done) => setTimeout(done, 1))],
    ["an immediate", true, () => new Promise((done) => setImmediate(done))],
    ["a file", true, () => readFile(import.meta.filename)],
    ["webcrypto", true, () => crypto.subtle.digest("SHA-256", new Uint8Array(1))],
    ["nothing", false, () => new Promise(() => undefined)],
  ];
  test.each(elsewhere)("%s is reported at once when nothing else is awaited", async (_, _back, wait) => {
    const world = new World();
    await world.tick(async (c) => {
      await c.now();
      await wait();
      return await c.ask("a", 1);
    });
    expect(code(world)).toBe("workflow.foreign_await");
    expect(last(world)).toMatchObject({ type: "RunFailed", seq: 3, error: { code: "workflow.foreign_await" } });
  });

  test.each(elsewhere)(
    "%s beside a pending operation: when it comes back, or when nothing else is left",
    async (_, back, wait) => {
      const workflow: Workflow = async (c) => {
        await Promise.all([c.ask("a", 1), wait().then(() => c.ask("b", 2))]);
        return 1;
      };
      const world = new World();
      const outcome = blocked(await world.tick(workflow));
      expect(outcome.foreign()).toBe(false);
      for (let i = 0; i < 200 && !outcome.foreign() && back; i++) await new Promise((done) => setTimeout(done, 5));
      expect(outcome.foreign()).toBe(back);
      expect(world.ops).toHaveLength(1); // the sealed session took nothing
      await world.tick(workflow, settle(world, "a", 1));
      expect(code(world)).toBe("workflow.foreign_await");
    },
  );

  test("a workflow that ends after something foreign, nothing pending, has not ended", async () => {
    const workflow: Workflow = async () => {
      await turn();
      return "late";
    };
    const world = new World();
    await world.tick(workflow);
    await turn();
    expect(code(world)).toBe("workflow.foreign_await");
  });

  test("what a sealed session is asked gets no answer, neither good nor bad; an end that comes back late is none", async () => {
    const heard: string[] = [];
    const workflow: Workflow = async (c) => {
      void c.ask("a", 1);
      await turn();
      try {
        await c.now();
        heard.push("answer");
      } catch {
        heard.push("rejection");
      }
      return 1;
    };
    const ends: Workflow = async (c) => {
      void c.ask("a", 1);
      await turn();
      return 1;
    };
    for (const late of [workflow, ends]) {
      const world = new World();
      const outcome = blocked(await world.tick(late));
      for (let i = 0; i < 3; i++) await turn();
      expect(outcome.foreign()).toBe(true);
      expect(world.raw).toHaveLength(2);
    }
    expect(heard).toEqual([]);
  });

  test("microtasks are not foreign: async generators, a cached import, a thousand awaits, no operation at all", async () => {
    await import("node:zlib");
    const world = new World();
    await world.tick(async () => {
      const values = async function* () {
        yield 1;
        yield 2;
      };
      for await (const x of values()) await Promise.resolve(x);
      for (let i = 0; i < 1_000; i++) await Promise.resolve();
      return "done";
    });
    expect(world.outcome).toEqual({ type: "completed", output: "done" });
  });
});

describe("quiescence", () => {
  const long: Workflow = async (c) => {
    for (let i = 0; i < 50; i++) await Promise.resolve();
    await c.now();
    for (let i = 0; i < 50; i++) await Promise.resolve();
    return await c.ask("a", 1);
  };
  const callers: [string, (call: () => void) => void][] = [
    ["a microtask", (call) => queueMicrotask(call)],
    ["a tick", (call) => process.nextTick(call)],
    ["an immediate", (call) => setImmediate(call)],
    ["a timer", (call) => setTimeout(call, 1)],
  ];
  test.each(callers)("a window ends when the microtask queue is empty, called from %s", async (_, soon) => {
    const world = new World();
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    soon(() => resolve(world.tick(long)));
    await promise;
    expect(world.ops.map((op) => op.type)).toEqual(["NowRead", "WavePlanned"]);
  });

  test("many runs that replay in one worker at once don't mix", async () => {
    const mine =
      (i: number): Workflow =>
      async (c) => {
        for (let k = 0; k < i; k++) await c.now();
        for (let k = 20 - i; k > 0; k--) await Promise.resolve();
        return await c.ask(`role${i}`, i);
      };
    const worlds = Array.from({ length: 20 }, () => new World());
    await Promise.all(worlds.map((world, i) => world.tick(mine(i))));
    await Promise.all(worlds.map((world, i) => world.tick(mine(i), settle(world, `role${i}`, i))));
    expect(worlds.map((w) => w.outcome)).toEqual(worlds.map((_, i) => ({ type: "completed", output: i })));
    expect(worlds.map((w) => w.ops.length)).toEqual(worlds.map((_, i) => i + 1));
  });
});

describe("limits and ends", () => {
  test("I11: endless operations are bounded, one after the other and at once", async () => {
    const loops: Workflow = async (c) => {
      for (;;) await c.now();
    };
    const atOnce: Workflow = async (c) => {
      await Promise.all(Array.from({ length: 501 }, (_, i) => c.ask("r", i)));
      return 1;
    };
    for (const workflow of [loops, atOnce]) {
      const world = new World();
      await world.tick(workflow);
      expect(code(world)).toBe("workflow.too_many_operations");
      expect(last(world)).toMatchObject({ type: "RunFailed" });
    }
  });

  test("a lower limit fails the run, it doesn't cut what the limit hides", async () => {
    const workflow: Workflow = async (c) => {
      for (let i = 0; i < 10; i++) await c.now();
      return await c.ask("a", 1);
    };
    const world = new World();
    await world.tick(workflow);
    world.operationsMax = 5;
    await world.tick(workflow);
    expect(code(world)).toBe("workflow.too_many_operations");
    expect(world.cuts).toBe(0);
  });

  test("S7: the tick that ends the run records of its operations only what needs nobody outside, and starts nothing", async () => {
    const workflow: Workflow = async (c) => {
      const first = c.now();
      void c.ask("loser", 1);
      void c.step("never", async () => 1);
      const at = await first;
      void c.ask("too late", at);
      await c.wave("empty", []);
      return await c.random();
    };
    const world = new World();
    await world.tick(workflow);
    expect(world.raw.map((e) => e.type)).toEqual([
      "RunCreated",
      "NowRead",
      "WavePlanned",
      "RandomRead",
      "RunCompleted",
    ]);
    expect(world.ops.map((op) => op.after)).toEqual([0, 2, 3]);
    const ops = world.raw.slice(0, -1); // the end lost: the rest is replayed, nothing more is decided than the end
    const again = new World(ops);
    again.seed = "another";
    await again.tick(workflow);
    expect(again.raw).toEqual(world.raw);
  });

  test("S7: equal reads of the last window are all on record, fed or not: so a replay tells them apart", async () => {
    const workflow: Workflow = async (c) => {
      const first = c.random();
      const second = c.random();
      return await Promise.race([first, second]);
    };
    const world = new World();
    await world.tick(workflow);
    expect(world.raw.map((e) => e.type)).toEqual(["RunCreated", "RandomRead", "RandomRead", "RunCompleted"]);
  });

  test("S7: a race's loser that is on record stays there, and the end is the only event", async () => {
    const workflow: Workflow = async (c) => await Promise.race([c.ask("x", 1), c.ask("y", 2)]);
    const world = new World();
    await world.tick(workflow);
    await world.tick(workflow, settle(world, "y", "Y"));
    expect(world.raw.map((e) => e.type)).toEqual([
      "RunCreated",
      "WavePlanned",
      "WavePlanned",
      "TaskSettled",
      "WaveSettled",
      "RunCompleted",
    ]);
  });

  test("a late completion of an operation that timed out is passed over", async () => {
    const workflow: Workflow = async (c) => {
      const r = await c.wave("w", [c.task("r", 1)], { timeoutMs: 50, onTaskFailure: "collect" });
      await c.sleep(1);
      return r.results.map((x) => x.error ?? null);
    };
    const world = new World();
    await world.tick(workflow);
    const op = waveOf(world, "w").seq;
    await world.tick(workflow, [{ type: "TimerFired", op }]);
    await world.tick(workflow, settle(world, "w", "late"));
    await world.tick(workflow, [fired(world, 0)]);
    expect(world.outcome).toEqual({
      type: "completed",
      output: ["task.timeout: not ended within the wave's time-out"],
    });
  });
});

describe("waves", () => {
  test("a wave's time-out fails what hasn't ended by then, with task.timeout; the rest keeps its answer", async () => {
    const workflow: Workflow = async (c) => {
      const { results } = await c.wave("w", [c.task("r", 1), c.task("r", 2)], {
        timeoutMs: 50,
        onTaskFailure: "collect",
      });
      return results.map((r) => r.output ?? r.error ?? null);
    };
    const world = new World();
    expect(blocked(await world.tick(workflow)).pending).toEqual([{ seq: 2, type: "wave", dueAt: 1_050 }]);
    await world.tick(workflow, [
      { type: "TaskSettled", op: 2, task: 1, outcome: answer("two") },
      { type: "TimerFired", op: 2 },
    ]);
    expect(world.outcome).toEqual({
      type: "completed",
      output: ["task.timeout: not ended within the wave's time-out", "two"],
    });
  });

  test("under fail the wave rejects with all results; who was under way is task.cancelled", async () => {
    const workflow: Workflow = async (c) => {
      await c.wave("w", [c.task("r", 1), c.task("r", 2)]);
      return 1;
    };
    const world = new World();
    await world.tick(workflow);
    await world.tick(workflow, [
      { type: "TaskSettled", op: 2, task: 1, outcome: failure("would rather not") },
      { type: "WaveSettled", op: 2 },
    ]);
    const message = "wave w failed: task w0t1: model.refused: would rather not";
    expect(world.outcome).toEqual({ type: "failed", error: { code: "wave.failed", message } });
  });

  test("tasks that have settled feed nothing: a wave answers when it is over", async () => {
    const workflow: Workflow = async (c) => (await c.wave("w", [c.task("r", 1), c.task("r", 2)])).results.length;
    const world = new World();
    await world.tick(workflow);
    await world.tick(workflow, [{ type: "TaskSettled", op: 2, task: 0, outcome: answer(1) }]);
    expect(world.outcome.type).toBe("blocked");
  });
});

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
