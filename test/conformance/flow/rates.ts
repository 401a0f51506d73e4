// Tokens a minute.
import { describe, expect, test } from "@jest/globals";
import { type FlowBench, inMs, rated, stream } from "./bench.ts";

export function rateSuite({ get, leave, enters, waits, called }: FlowBench): void {
  describe("tokens a minute", () => {
    test("a minute's worth at once, then as it runs out; the time is told", async () => {
      await enters(1, rated("model:m", 6_000, 4_000));
      await enters(2, rated("model:m", 6_000, 2_000));
      const wait = await waits(3, rated("model:m", 6_000, 1_000));
      expect(wait.retryAt - wait.now).toBeGreaterThan(8_500); // 1,000 tokens run out in 10 s
      expect(wait.retryAt - wait.now).toBeLessThan(10_500);
      await get().pass(10_500);
      await enters(3, rated("model:m", 6_000, 1_000));
      await waits(4, rated("model:m", 6_000, 3_000));
    });

    test("what was estimated too high is given back, and calls who fits", async () => {
      await enters(1, rated("model:m", 6_000, 6_000));
      for (const n of [2, 3]) await waits(n, rated("model:m", 6_000, 3_000));
      const calls = await get().flow.leave(stream(1), ["model:m"], { "model:m": 2_000 });
      called(calls, 2, 3);
      expect(inMs(calls[0])).toBe(0);
      expect(inMs(calls[1])).toBeGreaterThan(15_000); // 2,000 over: 20 s
      expect(inMs(calls[1])).toBeLessThan(20_100);
      await enters(2, rated("model:m", 6_000, 3_000));
    });

    test("what was estimated too low counts too", async () => {
      await enters(1, rated("model:m", 6_000, 1_000));
      await get().flow.leave(stream(1), ["model:m"], { "model:m": 9_000 });
      const wait = await waits(2, rated("model:m", 6_000, 1_000));
      expect(wait.retryAt - wait.now).toBeGreaterThan(38_000);
    });

    test("without a word about what was used the estimate stands", async () => {
      await enters(1, rated("model:m", 6_000, 6_000));
      await leave(1, "model:m");
      await waits(2, rated("model:m", 6_000, 1_000));
    });

    test("who wants more than a minute's worth gets in when the bucket is empty", async () => {
      await enters(1, rated("model:m", 6_000, 100));
      const wait = await waits(2, rated("model:m", 6_000, 50_000));
      expect(wait.retryAt - wait.now).toBeLessThan(1_500);
      await waits(3, rated("model:m", 6_000, 100)); // it doesn't overtake
      await get().pass(2_000);
      await enters(2, rated("model:m", 6_000, 50_000));
      await waits(3, rated("model:m", 6_000, 100));
    });

    test("a small one doesn't overtake a large one that waits", async () => {
      await enters(1, rated("model:m", 6_000, 4_000));
      await waits(2, rated("model:m", 6_000, 5_000));
      await waits(3, rated("model:m", 6_000, 10));
      await get().pass(31_000);
      await enters(2, rated("model:m", 6_000, 5_000));
    });

    test("who enters calls the next for the time when it fits", async () => {
      await enters(1, rated("model:m", 6_000, 6_000));
      for (const n of [2, 3]) await waits(n, rated("model:m", 6_000, 1_000));
      await get().pass(10_500);
      const calls = await enters(2, rated("model:m", 6_000, 1_000));
      called(calls, 3);
      expect(inMs(calls[0])).toBeGreaterThan(8_000);
      expect(inMs(calls[0])).toBeLessThan(10_500);
    });

    test("places count beside the rate", async () => {
      await enters(1, rated("model:m", 6_000, 1, 1));
      await waits(2, rated("model:m", 6_000, 1, 1));
      called(await leave(1, "model:m"), 2);
    });
  });
}
