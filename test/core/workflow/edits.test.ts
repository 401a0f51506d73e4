// The worked examples of editing a workflow while its run is under way, model calls counted.
import { describe, expect, test } from "@jest/globals";
import type { Json } from "../../../shared/core/json.ts";
import type { WorkflowCtx, WorkflowFn } from "../../../shared/core/workflow/context.ts";
import { Paid, type World } from "./world.ts";

type Workflow = WorkflowFn<Json>;

const crew =
  (topics: readonly string[], { style = "brief", before = "" } = {}): Workflow =>
  async (ctx) => {
    if (before) await ctx.ask("planner", before);
    const { results } = await ctx.wave(
      "research",
      topics.map((topic) => ctx.task("researcher", topic)),
    );
    const draft = await ctx.ask("writer", { style, notes: results.map((r) => r.output ?? null) });
    await ctx.sleepUntil(9e12);
    return draft;
  };

/** A run of this code after `n` completions, its bill paid. */
async function runAfter(n: number, workflow: Workflow = crew(["a", "b"])): Promise<Paid> {
  const world = new Paid();
  await world.go(workflow, [1], n);
  world.runs.clear();
  return world;
}

/** What the first look at this code does to the log: the name of the operation that is cut, or the outcome. */
async function firstCut(workflow: Workflow, world: World): Promise<string> {
  const { outcome } = await world.advance(workflow);
  if (outcome.type !== "cut") return outcome.type;
  const cut = world.raw[outcome.fromSeq - 1];
  return cut && "name" in cut ? cut.name : (cut?.type ?? "");
}

/** Goes on to the end with this code: the roles whose calls are paid for, and how often it cut. */
async function costs(workflow: Workflow, world: Paid): Promise<{ paid: string[]; cuts: number }> {
  await world.go(workflow, [1], 20);
  expect(world.outcome.type).toBe("completed");
  const paid = [...world.runs].flatMap(([content, n]) => Array<string>(n).fill((JSON.parse(content) as [string])[0]));
  return { paid, cuts: world.cuts };
}

describe("I6: edits of a workflow under way", () => {
  test("edit 1, change the writer's input: cut at the writer, only the writer runs", async () => {
    const world = await runAfter(2);
    const edited = crew(["a", "b"], { style: "long" });
    expect(await firstCut(edited, world)).toBe("writer");
    expect(await costs(edited, world)).toEqual({ paid: ["writer"], cuts: 1 });
  });

  test("edit 2, append a topic: the wave is planned again, two tasks are claimed, the new one and the writer run", async () => {
    const world = await runAfter(2);
    const edited = crew(["a", "b", "c"]);
    expect(await firstCut(edited, world)).toBe("research");
    expect(await costs(edited, world)).toEqual({ paid: ["researcher", "writer"], cuts: 1 });
    expect(world.claimed).toBe(2);
    expect(world.history.plans.get(2)?.tasks).toEqual(["w0t0", "w0t1", "w2t2"]);
  });

  test("edit 3, rename and extract a helper: nothing is cut, nothing runs", async () => {
    const notes = async (c: WorkflowCtx<Json>): Promise<Json[]> => {
      const wave = await c.wave("research", [c.task("researcher", "a"), c.task("researcher", "b")]);
      await Promise.resolve();
      return wave.results.map((r) => r.output ?? null);
    };
    const renamed: Workflow = async (c) => {
      const found = await notes(c);
      const text = await c.ask("writer", { notes: found, style: "brief" });
      await c.sleepUntil(new Date(9e12));
      return text;
    };
    expect(await costs(renamed, await runAfter(2))).toEqual({ paid: [], cuts: 0 });
  });

  test("edit 4, insert at the front: only the inserted runs", async () => {
    expect(await costs(crew(["a", "b"], { before: "plan" }), await runAfter(2))).toEqual({
      paid: ["planner"],
      cuts: 1,
    });
  });

  test("edit 4, reorder topics: the writer alone, its notes have another order", async () => {
    expect(await costs(crew(["b", "a"]), await runAfter(2))).toEqual({ paid: ["writer"], cuts: 1 });
  });

  test("insert at the front while the wave runs: its tasks are claimed later, so the first plan must not give them up", async () => {
    expect(await costs(crew(["a", "b"], { before: "plan" }), await runAfter(0))).toEqual({
      paid: ["planner", "writer"],
      cuts: 1,
    });
  });

  test("a parallel branch more: nothing is cut", async () => {
    const branches =
      (n: number): Workflow =>
      async (c) =>
        (
          await Promise.all(Array.from({ length: n }, async (_, i) => await c.ask("second", await c.ask("first", i))))
        ).join();
    const world = new Paid();
    await world.go(branches(2), [3], 3);
    world.runs.clear();
    const { paid, cuts } = await costs(branches(3), world);
    expect(cuts).toBe(0);
    expect(paid.filter((role) => role === "first")).toEqual(["first"]);
  });

  const both: Workflow = async (c) => {
    const answers = await Promise.all([c.ask("a", 1), c.ask("b", 2)]);
    await c.sleep(1);
    return answers.join();
  };
  const inTurn: Workflow = async (c) => `${await c.ask("a", 1)},${await c.ask("b", 2)}`;

  test("parallel to sequential, the second settled first: a cut, not a wait for a completion that has passed; nothing is paid twice", async () => {
    expect(await costs(inTurn, await runAfter(2, both))).toEqual({ paid: [], cuts: 1 });
  });

  test("sequential to parallel: a cut, but nothing is paid twice", async () => {
    const slow: Workflow = async (c) => {
      const answers = await inTurn(c);
      await c.sleep(1);
      return answers;
    };
    expect(await costs(both, await runAfter(2, slow))).toEqual({ paid: [], cuts: 1 });
  });

  test("remove the last operation: cut at it, then the run ends", async () => {
    const shorter: Workflow = async (c) => await c.ask("a", 1);
    const world = await runAfter(1, inTurn);
    expect(await firstCut(shorter, world)).toBe("b");
    expect(await costs(shorter, world)).toEqual({ paid: [], cuts: 1 });
  });

  test("a read more in an early window leaves the later ones their values", async () => {
    const timed =
      (more: boolean): Workflow =>
      async (c) => {
        if (more) void c.now();
        await c.ask("a", 1);
        return await c.ask("b", await c.now());
      };
    const world = await runAfter(1, timed(false));
    world.now = 2_000;
    expect(await firstCut(timed(true), world)).toBe("blocked");
  });

  test("policy is no content: another time-out, more at once, other attempts, another body of a step cut nothing", async () => {
    const patient =
      (timeoutMs: number, value: string): Workflow =>
      async (c) => {
        const a = c.wave("a", [c.task("a", 1)], { timeoutMs, maxParallel: timeoutMs });
        const s = c.step("s", async () => value, { attempts: timeoutMs, timeoutMs });
        return [(await a).name, await s];
      };
    const world = await runAfter(0, patient(10, "old"));
    expect(await firstCut(patient(20, "new"), world)).toBe("blocked");
    await world.tick(patient(20, "new"));
    const { outcome } = world;
    if (outcome.type !== "blocked") throw new Error(outcome.type);
    expect(outcome.pending[0]?.dueAt).toBe(1_010); // fixed when it was planned
    expect(outcome.steps[0]).toMatchObject({ attempts: 20, timeoutMs: 20 });
  });

  test("renaming a wave cuts, its tasks are claimed by content", async () => {
    const named =
      (name: string): Workflow =>
      async (c) => {
        const { results } = await c.wave(name, [c.task("r", 1), c.task("r", 2)]);
        await c.sleep(5);
        return results.map((r) => r.output ?? null);
      };
    expect(await costs(named("other"), await runAfter(1, named("one")))).toEqual({ paid: [], cuts: 1 });
  });

  test("another setting for failures is another wave: cut, every task claimed", async () => {
    const set =
      (onTaskFailure: "fail" | "collect"): Workflow =>
      async (c) => {
        const { results } = await c.wave("w", [c.task("r", 1), c.task("r", 2)], { onTaskFailure });
        await c.sleep(5);
        return results.length;
      };
    expect(await costs(set("collect"), await runAfter(1, set("fail")))).toEqual({ paid: [], cuts: 1 });
  });

  test("a settled task is a fact: what failed before the edit is claimed as failed", async () => {
    const flaky =
      (topics: number): Workflow =>
      async (c) => {
        const { results } = await c.wave(
          "w",
          Array.from({ length: topics }, (_, i) => c.task("r", i)),
          { onTaskFailure: "collect" },
        );
        await c.sleep(5);
        return results.map((r) => r.status);
      };
    const world = new Paid();
    world.flaky = true;
    await world.go(flaky(60), [1], 1);
    world.runs.clear();
    await world.go(flaky(61), [1], 20);
    expect(world.outcome).toMatchObject({ type: "completed", output: expect.arrayContaining(["failed"]) });
    expect([...world.runs.keys()]).toEqual(['["r",60]']);
  });
});
