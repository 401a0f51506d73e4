// Places, and who gets them.
import { describe, expect, test } from "@jest/globals";
import { FLOW_RETRY_MS, FLOW_SETTLE_MS } from "../../../shared/core/limits.ts";
import { type FlowBench, gate, inMs, LEASE_MS, stream } from "./bench.ts";

export function placeSuite({ get, enter, leave, enters, waits, called }: FlowBench): void {
  describe("places", () => {
    const two = gate("model:m", 2);
    test("no more are inside than there is room for; the next is told when to look again", async () => {
      called(await enters(1, two));
      called(await enters(2, two));
      const wait = await waits(3, two);
      expect(wait.key).toBe("model:m");
      expect(wait.retryAt - wait.now).toBeGreaterThanOrEqual(FLOW_RETRY_MS * 0.7);
      expect(wait.retryAt - wait.now).toBeLessThanOrEqual(FLOW_RETRY_MS * 1.3);
      called(wait.called);
    });

    test("who leaves calls whoever has waited longest, one for each place", async () => {
      for (const n of [1, 2]) await enters(n, two);
      for (const n of [3, 4, 5]) await waits(n, two);
      const calls = await leave(1, "model:m");
      expect(calls).toEqual([{ stream: stream(3), at: calls[0]?.now, now: expect.any(Number) }]);
      called(await leave(2, "model:m"), 4);
      await enters(4, two);
      await enters(3, two);
      await waits(5, two);
    });

    test("who may still be on its way to park is called for a moment later", async () => {
      await enters(1, two);
      await enters(2, two);
      await enter(3, two);
      const [call] = await leave(1, "model:m");
      expect(inMs(call)).toBeGreaterThan(FLOW_SETTLE_MS / 2);
      expect(inMs(call)).toBeLessThanOrEqual(FLOW_SETTLE_MS + 1);
      await enters(3, two); // it may come sooner
    });

    test("nobody is called twice, while it may still come", async () => {
      await enters(1, two);
      await enters(2, two);
      for (const n of [3, 4]) await waits(n, two);
      called(await leave(1, "model:m"), 3);
      called(await leave(1, "model:m"));
      called(await leave(9, "model:m"));
      called(await leave(2, "model:m"), 4);
    });

    test("a newcomer overtakes nobody who waits, called or not; it enters where there is room for all", async () => {
      await enters(1, two);
      await enters(2, two);
      await waits(3, two);
      called(await leave(1, "model:m"), 3);
      await waits(4, two);
      called(await leave(2, "model:m"), 4);
      await waits(5, two);
      await enters(3, two);
      await enters(4, two);
      called(await leave(3, "model:m"), 5);
      await leave(4, "model:m");
      await enters(6, two);
    });

    test("entering again renews, and takes no second place", async () => {
      await enters(1, two);
      await enters(1, two);
      await enters(2, two);
      await get().other.enter(stream(2), [two], LEASE_MS);
      await waits(3, two);
      await waits(3, two);
      called(await leave(1, "model:m"), 3);
    });

    test("waiting again keeps the turn", async () => {
      await enters(1, two);
      await enters(2, two);
      await waits(3, two);
      await waits(4, two);
      await waits(3, two);
      called(await leave(1, "model:m"), 3);
    });

    test("who waits longer looks again less often", async () => {
      await enters(1, two);
      await enters(2, two);
      await waits(3, two);
      await get().pass(16 * FLOW_RETRY_MS);
      await get().flow.renew([stream(1), stream(2)], LEASE_MS);
      // The places had run out, and nobody had looked: they are still their holders'.
      const { retryAt, now } = await waits(3, two);
      expect(retryAt - now).toBeGreaterThan(2.9 * FLOW_RETRY_MS);
    });

    test("a stream that isn't there leaves nothing, and a key is one gate", async () => {
      called(await leave(1, "model:none"));
      await enters(1, gate("model:a", 1));
      await enters(1, gate("model:b", 1));
      await waits(2, gate("model:a", 1));
      called(await leave(1, "model:b"));
      called(await leave(1, "model:a"), 2);
    });

    test("more room than before is given to those who wait, by whoever comes next", async () => {
      for (const n of [1, 2]) await enters(n, two);
      for (const n of [3, 4, 5]) await waits(n, two);
      const wait = await waits(6, gate("model:m", 4));
      called(wait.called); // those who asked for two places keep to it
      called(await enters(1, gate("model:m", 4)));
      called(await leave(1, "model:m"), 3);
    });

    test("less room than before: as many as there are go on, and none comes in before there is room", async () => {
      for (const n of [1, 2]) await enters(n, two);
      await waits(3, gate("model:m", 1));
      called(await leave(1, "model:m"));
      called(await leave(2, "model:m"), 3);
    });
  });
}
