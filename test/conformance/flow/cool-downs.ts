// Cool-downs.
import { describe, expect, test } from "@jest/globals";
import { FLOW_SPREAD_MS } from "../../../shared/core/limits.ts";
import { type FlowBench, gate, inMs } from "./bench.ts";

export function coolDownSuite({ get, leave, enters, waits, called }: FlowBench): void {
  describe("cool-downs", () => {
    const two = gate("model:m", 2);
    test("nobody enters, whoever is inside goes on", async () => {
      await enters(1, two);
      await get().other.coolDown("model:m", 20_000);
      const wait = await waits(2, two);
      expect(wait.retryAt - wait.now).toBeGreaterThan(19_000);
      expect(wait.retryAt - wait.now).toBeLessThanOrEqual(20_000 + FLOW_SPREAD_MS);
      await enters(1, two);
      await get().pass(20_100);
      await enters(2, two);
    });

    test("the longest wins, and all are listed", async () => {
      const { flow, other } = get();
      await flow.coolDown("model:m", 30_000);
      await other.coolDown("model:m", 5_000);
      await other.coolDown("model:n", 5_000);
      const { now, until } = await flow.coolDowns();
      expect([...until.keys()].sort()).toEqual(["model:m", "model:n"]);
      expect((until.get("model:m") ?? 0) - now).toBeGreaterThan(28_000);
      await get().pass(6_000);
      expect([...(await flow.coolDowns()).until.keys()]).toEqual(["model:m"]);
    });

    test("no cool-down: an empty list with the time", async () => {
      const { now, until } = await get().flow.coolDowns();
      expect(until.size).toBe(0);
      expect(now).toBeGreaterThan(Date.UTC(2020));
    });

    test("without places or a rate it alone holds back", async () => {
      const open = gate("model:m", null);
      for (const n of [1, 2, 3]) await enters(n, open);
      await get().flow.coolDown("model:m", 10_000);
      expect((await waits(4, open)).key).toBe("model:m");
      await get().pass(11_100);
      await enters(4, open);
      called(await leave(4, "model:m"));
    });

    test("those whose turn it is are called for its end, as many as there is room for", async () => {
      for (const n of [1, 2]) await enters(n, two);
      for (const n of [3, 4, 5]) await waits(n, two);
      await get().flow.coolDown("model:m", 20_000);
      const calls = await leave(1, "model:m");
      called(calls, 3);
      expect(inMs(calls[0])).toBeGreaterThan(18_000);
      expect(inMs(calls[0])).toBeLessThanOrEqual(20_000 + FLOW_SPREAD_MS);
      called(await leave(2, "model:m"), 4);
      await waits(3, two); // too early
      await get().pass(21_000);
      await enters(3, two);
      await enters(4, two);
      await waits(5, two);
    });

    test("who finds an open gate cooling keeps its turn at the other until its end, and nobody is called in its place", async () => {
      const open = gate("model:m", null);
      const wave = gate("wave:r:0", 2);
      await enters(1, wave, open);
      await enters(2, wave, open);
      for (const n of [3, 4]) await waits(n, wave, open);
      await get().flow.coolDown("model:m", 20_000);
      const wait = await waits(1, wave, open);
      expect(wait.retryAt - wait.now).toBeGreaterThan(18_000);
      expect(wait.retryAt - wait.now).toBeLessThanOrEqual(20_000 + FLOW_SPREAD_MS);
      called(wait.called);
      called(await leave(2, "wave:r:0"), 3); // it doesn't wait for the model
      expect((await waits(3, wave, open)).key).toBe("wave:r:0");
      called(await leave(9, "wave:r:0"));
      await waits(5, wave, open);
      await get().pass(21_100);
      await waits(4, wave, open);
      await enters(1, wave, open);
      await enters(3, wave, open);
      called(await leave(1, "wave:r:0"), 4);
    });

    test("a cooling gate alone, and one nobody waits at: the wait ends with the cool-down", async () => {
      await get().flow.coolDown("model:m", 20_000);
      const wait = await waits(1, gate("model:m", null), gate("wave:r:0", 2));
      expect(wait.retryAt - wait.now).toBeLessThanOrEqual(20_000 + FLOW_SPREAD_MS);
      await enters(2, gate("wave:r:0", 2));
      await waits(3, gate("wave:r:0", 2)); // the first in line has its claim
      await get().pass(21_100);
      await enters(1, gate("model:m", null), gate("wave:r:0", 2));
    });

    test("a queue behind a cool-down stays in order, and comes to an end", async () => {
      const one = gate("model:m", 1);
      await get().flow.coolDown("model:m", 20_000);
      const first = await waits(1, one);
      const second = await waits(2, one);
      expect(first.retryAt - first.now).toBeLessThan(21_100);
      expect(second.retryAt - second.now).toBeGreaterThan(22_000);
      await get().pass(21_000);
      await waits(3, one);
      await enters(1, one);
      called(await leave(1, "model:m"), 2);
      await enters(2, one);
      called(await leave(2, "model:m"), 3);
    });
  });
}
