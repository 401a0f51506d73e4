// All or none.
import { describe, expect, test } from "@jest/globals";
import { type FlowBench, gate } from "./bench.ts";

export function severalSuite({ leave, enters, waits, called }: FlowBench): void {
  describe("several gates", () => {
    const model = gate("model:m", 1);
    const wave = gate("wave:r:0", 2);
    test("all or none: who waits for one holds no other", async () => {
      await enters(1, model);
      expect((await waits(2, wave, model)).key).toBe("model:m");
      await enters(3, wave);
      await enters(4, wave);
    });

    test("places are given back with the wait, and their next is called", async () => {
      await enters(1, model);
      await enters(2, wave);
      await enters(3, wave);
      await waits(4, wave);
      const wait = await waits(2, wave, model);
      expect(wait.key).toBe("model:m");
      called(wait.called, 4);
      await enters(4, wave);
    });

    test("the turn is kept from one queue to the next", async () => {
      await enters(1, model);
      for (const n of [2, 3]) await enters(n, wave);
      expect((await waits(4, wave)).key).toBe("wave:r:0");
      await waits(5, model);
      called(await leave(2, "wave:r:0"), 4);
      expect((await waits(4, wave, model)).key).toBe("model:m"); // it has waited longer than 5
      called(await leave(1, "model:m"), 4);
      await waits(5, model);
      await enters(4, wave, model);
    });

    test("each is left by itself", async () => {
      await enters(1, wave, model);
      await waits(2, model);
      called(await leave(1, "model:m"), 2);
      await enters(2, wave, model);
      await waits(3, wave);
      called(await leave(1, "wave:r:0", "model:m"), 3);
    });
  });
}
