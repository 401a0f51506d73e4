// Over 300 lines: one subject, rule after rule. Workflows that go on anew (P1–P5 of core/workflow/continued.ts).
import { describe, expect, test } from "@jest/globals";
import { inboxCursor } from "../../../shared/core/events.ts";
import type { Json } from "../../../shared/core/json.ts";
import { CONTINUATIONS_IDLE_MAX, PAYLOAD_MAX_BYTES } from "../../../shared/core/limits.ts";
import { awaitedSignals } from "../../../shared/core/workflow/awaited.ts";
import type { WorkflowFn } from "../../../shared/core/workflow/context.ts";
import { foldRun } from "../../../shared/core/workflow/fold.ts";
import { guardRejections } from "./guard.ts";
import { blocked, code, failedWith, fired, last, settle, signal, turn } from "./happenings.ts";
import { World } from "./world.ts";

type Workflow = WorkflowFn<Json>;
guardRejections();

const begun = (world: World) => {
  const { begun: beginning } = world.history;
  if (beginning.type !== "RunContinued") throw new Error("it hasn't gone on anew");
  return beginning;
};
/** Asks, and goes on with one more, to the end. */
const counting =
  (to: number): Workflow =>
  async (c) => {
    const n = Number(c.input ?? 0);
    const said = await c.ask("r", n);
    return n === to ? said : await c.continueAsNew(n + 1);
  };

describe("a run that goes on anew", () => {
  test("P1 P2: begins as a run does, with the input that it was given; numbers go on, keys and ids are new", async () => {
    const keys: string[] = [];
    const children: string[] = [];
    const workflow: Workflow = async (c) => {
      await c.step("mail", async () => null);
      await c.run("sub", 1);
      await c.wave("empty", []);
      await c.ask("r", c.input);
      return await c.continueAsNew([c.input]);
    };
    const world = new World(undefined, "first");
    for (let part = 0; part < 3; part++) {
      await world.tick(workflow);
      const [step] = world.ops.filter((op) => op.type === "StepStarted");
      expect(step?.after).toBe(0);
      keys.push(step?.idempotencyKey ?? "");
      await world.tick(workflow, [{ type: "StepCompleted", op: step?.seq ?? 0, value: null }]);
      const child = world.ops.find((op) => op.type === "ChildStarted");
      children.push(child?.type === "ChildStarted" ? child.run : "");
      await world.tick(workflow, [
        { type: "ChildEnded", op: child?.seq ?? 0, outcome: { status: "completed", output: 1 } },
      ]);
      expect([...world.history.plans.keys()]).toEqual([2 * part, 2 * part + 1]);
      await world.tick(workflow, settle(world, "r", "R"));
      expect(begun(world)).toMatchObject({ part: part + 1, nextWave: 2 * part + 2, process: "main", idle: 0 });
    }
    expect([...world.contents.values()]).toEqual(['["r","first"]', '["r",["first"]]', '["r",[["first"]]]']);
    expect([...world.contents.keys()]).toEqual(["w1t0", "w3t0", "w5t0"]);
    expect(new Set(keys).size).toBe(3);
    expect(new Set(children).size).toBe(3);
    expect(world.history.over.size).toBe(0);
  });

  test("P1: what stands before is neither executed nor read: the log from its last beginning folds to the same", async () => {
    const seen: Json[] = [];
    const workflow: Workflow = async (c) => {
      seen.push(c.input);
      return await counting(3)(c);
    };
    const world = new World(undefined, 0);
    await world.tick(workflow);
    for (let n = 0; n < 3; n++) await world.tick(workflow, settle(world, "r", n));
    seen.length = 0;
    const tail = world.raw.slice(begun(world).seq - 1);
    expect(tail).toHaveLength(2);
    expect(foldRun(tail)).toEqual(world.history);
    const resumed = new World(tail);
    expect((await resumed.advance(workflow)).decisions).toEqual([]);
    expect(seen).toEqual([3]);
    await world.tick(workflow, settle(world, "r", "the end"));
    expect(world.outcome).toEqual({ type: "completed", output: "the end" });
    expect(inboxCursor([{ seq: 9, type: "RunContinued", payload: { absorbed: 7 }, recordedAt: 0 }])).toBe(7);
  });

  test("I6: an edit is held against the last part alone", async () => {
    const before: Workflow = async (c) => {
      if (c.input === null) await c.ask("old", 1);
      else await c.ask("now", 2);
      return c.continueAsNew(1);
    };
    const world = new World();
    await world.tick(before);
    await world.tick(before, settle(world, "old", "O"));
    await world.tick(async (c) => [await c.ask("now", 2), await c.ask("more", 3)]);
    expect(world.cuts).toBe(0);
    await world.tick(async (c) => await c.ask("now", 4)); // the last part is cut, and none of its tasks was the old one's
    expect(world.cuts).toBe(1);
    expect(world.history.cutPlans.map((p) => p.name)).toEqual(["now"]);
    expect(world.history.nextWave).toBe(3);
    expect(begun(world).part).toBe(1);
  });

  test("what its code no longer asks for is cut before it goes on", async () => {
    const world = new World();
    await world.tick(async (c) => await c.ask("dropped", 1));
    await world.tick(async (c) => (c.input === null ? await c.continueAsNew("on") : await c.sleep(1).then(() => 1)));
    expect(world.cuts).toBe(1);
    expect(begun(world)).toMatchObject({ input: "on", nextWave: 1 });
    expect(world.history.cutPlans).toEqual([]);
  });

  test("I11: operations are counted by the part", async () => {
    const world = new World(undefined, 0);
    world.operationsMax = 3;
    const workflow: Workflow = async (c) => {
      await c.now();
      await c.sleep(1);
      if (Number(c.input) < 4) return c.continueAsNew(Number(c.input) + 1);
      await c.sleep(2);
      await c.sleep(3);
      return await c.sleep(4).then(() => 1);
    };
    await world.tick(workflow);
    for (let n = 0; n < 4; n++) await world.tick(workflow, [fired(world, 0)]);
    await world.tick(workflow, [fired(world, 0)]);
    await world.tick(workflow, [fired(world, 1)]);
    expect(code(world)).toBe("workflow.too_many_operations");
  });

  test("P2: a wave that needs nobody, and is planned as the part ends, has its number for itself", async () => {
    const world = new World();
    await world.tick(async (c) => {
      await c.wave("empty", []);
      return c.input === null ? await c.continueAsNew(1) : await c.ask("r", 1);
    });
    const waves = world.raw.flatMap((e) => (e.type === "WavePlanned" ? [e.wave] : []));
    expect(waves).toEqual([0, 1, 2]);
  });

  test("what was read for its input stands in the log", async () => {
    const workflow: Workflow = async (c) => {
      if (c.input !== null) return await c.sleep(1).then(() => 1);
      return c.continueAsNew({ since: await c.now() });
    };
    const world = new World();
    await world.tick(workflow);
    expect(world.raw.map((e) => e.type)).toEqual(["RunCreated", "NowRead", "RunContinued", "TimerSet"]);
    expect(begun(world).input).toEqual({ since: 1_000 });
  });
});

describe("P3: signals that nobody has received", () => {
  /** Takes as many in each part as it is told, and asks. */
  const taking =
    (...counts: number[]): Workflow =>
    async (c) => {
      const { part, got } = (c.input ?? { part: 0, got: [] }) as { part: number; got: Json[] };
      const all = [...got];
      for (let i = 0; i < (counts[part] ?? 0); i++) all.push(await c.waitFor("go"));
      await c.ask("r", all);
      return await c.continueAsNew({ part: part + 1, got: all });
    };

  test("go with it in the order in which they came, through parts that don't look at them, and are there at once", async () => {
    const workflow = taking(0, 0, 2, 2);
    const world = new World();
    await world.tick(workflow);
    await world.tick(workflow, [signal("go", "a"), signal("else", 1), signal("go", "b")]);
    await world.tick(workflow, [...settle(world, "r", 1), signal("go", "c")]);
    expect(begun(world).signals.map((kept) => kept.value)).toEqual(["a", 1, "b", "c"]);
    await world.tick(workflow, settle(world, "r", 2));
    expect(world.part).toBe(2);
    expect(blocked(world.outcome).pending).toMatchObject([{ type: "wave" }]); // its waits are over
    await world.tick(workflow, settle(world, "r", 3));
    expect(begun(world).input).toEqual({ part: 3, got: ["a", "b"] });
    expect(begun(world).signals.map((kept) => kept.value)).toEqual([1, "c"]);
    expect(blocked(world.outcome).pending).toMatchObject([{ type: "signal" }]);
    expect(awaitedSignals(world.log).map((wait) => wait.seq)).toEqual([world.ops.at(-1)?.seq]);
    await world.tick(workflow, [signal("go", "d")]);
    await world.tick(workflow, settle(world, "r", 4));
    expect(begun(world).input).toEqual({ part: 4, got: ["a", "b", "c", "d"] });
  });

  test("and that a wait would have had in the window that ended it; what was given to a wait is gone", async () => {
    const workflow: Workflow = async (c) => {
      if (c.input !== null) return [await c.waitFor("go"), await c.waitFor("go")];
      void c.waitFor("go");
      await c.sleep(1);
      void c.waitFor("go");
      return await c.continueAsNew(1);
    };
    const world = new World();
    await world.tick(workflow);
    await world.tick(workflow, [signal("go", "given"), signal("go", "kept"), fired(world, 0), signal("go", "late")]);
    expect(world.outcome).toEqual({ type: "completed", output: ["kept", "late"] });
  });

  test("beside an input too large for one event fail the run", async () => {
    const big = "x".repeat(PAYLOAD_MAX_BYTES / 2);
    const world = new World(undefined, "small");
    const workflow: Workflow = async (c) => {
      await c.sleep(1);
      return await c.continueAsNew(big);
    };
    await world.tick(workflow, [signal("go", big)]);
    await world.tick(workflow, [fired(world, 0)]);
    expect(code(world)).toBe("payload.too_large");
  });
});

describe("how a workflow leaves", () => {
  test.each<[string, Workflow, string]>([
    [
      "without waiting for it, and returns nothing",
      async (c) => {
        if (c.input !== null) await c.sleep(1);
        else void c.continueAsNew(1);
        return null;
      },
      "blocked",
    ],
    [
      "from a branch, while another waits",
      async (c) => {
        if (c.input !== null) return await c.sleep(2).then(() => 1);
        await Promise.all([c.ask("r", 1), c.now().then(() => c.continueAsNew(1))]);
        return "never";
      },
      "blocked",
    ],
    [
      "and throws",
      async (c) => {
        void c.continueAsNew(1);
        throw new Error("a bug");
      },
      "workflow.threw",
    ],
    [
      "and returns a value",
      async (c) => {
        void c.continueAsNew(1);
        return "done";
      },
      "workflow.ended_twice",
    ],
    ["twice", async (c) => await Promise.race([c.continueAsNew(1), c.continueAsNew(2)]), "workflow.ended_twice"],
    ["with what isn't JSON", async (c) => await c.continueAsNew(1n as never), "workflow.not_json"],
    ["with what is too large", async (c) => await c.continueAsNew("x".repeat(PAYLOAD_MAX_BYTES)), "payload.too_large"],
    ["with what it can't be run with", async (c) => await c.continueAsNew("refused"), "workflow.bad_input"],
  ])("%s", async (_, workflow, expected) => {
    const world = new World();
    world.refuses = (input) => (input === "refused" ? "no such input" : null);
    await world.tick(workflow);
    expect(code(world)).toBe(expected);
    expect(world.part).toBe(expected === "blocked" ? 1 : 0);
  });

  test("a refused input is an error that it may catch", async () => {
    const world = new World();
    world.refuses = () => "no such input";
    await world.tick(async (c) => await c.continueAsNew(1).catch((e: Error) => e.message));
    expect(world.outcome).toEqual({ type: "completed", output: "ctx.continueAsNew: no such input" });
  });

  test("S8: nothing of it counts when something foreign brought it there", async () => {
    const workflow: Workflow = async (c) => {
      await turn();
      return await c.continueAsNew(1);
    };
    const world = new World();
    await world.tick(workflow);
    expect(code(world)).toBe("workflow.foreign_await");
    await turn();
    expect(world.part).toBe(0);
  });

  test("P5: parts that wait for nothing are few; one that waits, or receives what came before, starts the count anew", async () => {
    const world = new World(undefined, 0);
    const workflow: Workflow = async (c) => {
      const n = Number(c.input);
      await c.now();
      if (n === 5) await c.sleep(1);
      if (n === 9) await c.waitFor("go", { timeoutMs: 0 });
      return await c.continueAsNew(n + 1);
    };
    await world.tick(workflow, [signal("go", 1)]);
    const idle = (): number[] => world.raw.flatMap((e) => (e.type === "RunContinued" ? [e.idle] : []));
    expect(idle()).toEqual([0, 1, 2, 3, 4]); // the first had a fact
    await world.tick(workflow, [fired(world, 0)]);
    const more = Array.from({ length: CONTINUATIONS_IDLE_MAX }, (_, i) => i + 1);
    expect(idle()).toEqual([0, 1, 2, 3, 4, 0, 1, 2, 3, 0, ...more]);
    expect(failedWith(world)).toMatchObject({ code: "workflow.runs_idle" });
    expect(last(world)).toMatchObject({ type: "RunFailed" });
  });
});
