import { readFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import type { Json } from "../../../shared/core/json.ts";
import type { WorkflowFn } from "../../../shared/core/workflow/context.ts";
import type { Outcome } from "../../../shared/core/workflow/schedule.ts";
import { guardRejections } from "./guard.ts";
import { blocked, code, fired, last, settle, turn } from "./happenings.ts";
import { World } from "./world.ts";

type Workflow = WorkflowFn<Json>;
const guard = guardRejections();

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
