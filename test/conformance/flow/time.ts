// Leases, lost calls, and those who are never heard of again.
import { describe, test } from "@jest/globals";
import { FLOW_CALL_MS, FLOW_CALLS_MAX, FLOW_RETRY_MS, FLOW_UNHEARD_MS } from "../../../shared/core/limits.ts";
import { type FlowBench, gate, LEASE_MS, stream } from "./bench.ts";

export function timeSuite({ get, leave, enters, waits, called }: FlowBench): void {
  describe("time", () => {
    const one = gate("model:m", 1);
    test("a dead holder's place is free after its lease, not before", async () => {
      await enters(1, one);
      await waits(2, one);
      await get().pass(LEASE_MS - 2_000);
      await waits(2, one);
      await get().pass(3_000);
      await enters(2, one);
      await waits(1, one);
    });

    test("a renewed place isn't free", async () => {
      await enters(1, one);
      await get().pass(LEASE_MS - 2_000);
      await get().other.renew([stream(1), stream(7)], LEASE_MS);
      await get().pass(LEASE_MS - 2_000);
      await waits(2, one);
    });

    test("a place that was lost isn't renewed", async () => {
      await enters(1, one);
      await waits(2, one);
      await get().pass(LEASE_MS + 1_000);
      await enters(2, one);
      await get().flow.renew([stream(1)], LEASE_MS);
      called(await leave(1, "model:m"));
      await waits(3, one);
    });

    test("who is called and doesn't come is called again, then loses its turn to the next", async () => {
      await enters(1, one);
      for (const n of [2, 3]) await waits(n, one);
      called(await leave(1, "model:m"), 2);
      for (let n = 1; n < FLOW_CALLS_MAX; n++) {
        await get().pass(FLOW_CALL_MS - 1_000);
        called(await leave(1, "model:m"));
        await get().pass(2_000);
        called(await leave(1, "model:m"), 2);
      }
      await get().pass(FLOW_CALL_MS + 1_000);
      called(await leave(1, "model:m"), 3);
      await enters(3, one);
    });

    test("who comes late after a call has its turn all the same", async () => {
      await enters(1, one);
      for (const n of [2, 3]) await waits(n, one);
      called(await leave(1, "model:m"), 2);
      await get().pass(FLOW_CALL_MS + 1_000);
      await waits(3, one);
      await enters(2, one);
    });

    test("who waits and is never heard of again blocks nobody for ever", async () => {
      await enters(1, one);
      await waits(2, one);
      await get().pass(2 * FLOW_RETRY_MS + FLOW_UNHEARD_MS);
      await enters(3, one); // 1 died too
      called(await leave(3, "model:m"));
    });

    test("who leaves while it waits has no turn any more", async () => {
      await enters(1, one);
      for (const n of [2, 3]) await waits(n, one);
      called(await leave(2, "model:m"));
      called(await leave(1, "model:m"), 3);
      called(await leave(3, "model:m"));
      await enters(4, one);
    });
  });
}
