import { describe, expect, test } from "@jest/globals";
import type { Json } from "../../../shared/core/json.ts";
import type { WorkflowFn } from "../../../shared/core/workflow/context.ts";
import { guardRejections } from "./guard.ts";
import { blocked, code, fired, last, settle, waveOf } from "./happenings.ts";
import { answer, failure, World } from "./world.ts";

type Workflow = WorkflowFn<Json>;
guardRejections();

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
    expect(world.outcome).toMatchObject({ type: "failed", error: { code: "wave.failed", message } });
  });

  test("tasks that have settled feed nothing: a wave answers when it is over", async () => {
    const workflow: Workflow = async (c) => (await c.wave("w", [c.task("r", 1), c.task("r", 2)])).results.length;
    const world = new World();
    await world.tick(workflow);
    await world.tick(workflow, [{ type: "TaskSettled", op: 2, task: 0, outcome: answer(1) }]);
    expect(world.outcome.type).toBe("blocked");
  });
});
