import { describe, expect, test } from "@jest/globals";
import type { Json } from "../../../shared/core/json.ts";
import type { WorkflowFn } from "../../../shared/core/workflow/context.ts";
import { firstSettled, run } from "./happenings.ts";
import { answer } from "./world.ts";

type Workflow = WorkflowFn<Json>;

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
    const world = await run(workflow, ...firstSettled(answer({ list: [3] })));
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
      ...firstSettled(answer([3])),
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

test("ctx knows its run", async () => {
  const world = await run(async (c) => [c.runId, c.input]);
  expect(world.outcome).toEqual({ type: "completed", output: ["run-1", { topic: "x" }] });
});
