// What every twin of the flow control keeps. Time is passed, not waited for.
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "@jest/globals";
import {
  FLOW_CALL_MS,
  FLOW_CALLS_MAX,
  FLOW_RETRY_MS,
  FLOW_SETTLE_MS,
  FLOW_SPREAD_MS,
  FLOW_UNHEARD_MS,
} from "../../shared/core/limits.ts";
import type { Call, Entered, Flow, Gate } from "../../shared/ports/flow.ts";
import type { StreamRef } from "../../shared/ports/store.ts";

export interface FlowUnderTest {
  readonly flow: Flow;
  /** The same gates, seen by another worker. */
  readonly other: Flow;
  empty(): Promise<void>;
  /** As if so much time had passed: all that is due later is due sooner. */
  pass(ms: number): Promise<void>;
}

const LEASE_MS = 60_000;
const run = randomUUID();
const stream = (n: number): StreamRef => ({ agent: "crew", runId: run, streamId: `task:w0t${n}` });
const gate = (key: string, max: number | null): Gate => ({ key, max, rate: null });
const rated = (key: string, perMinute: number, tokens: number, max: number | null = null): Gate => ({
  key,
  max,
  rate: { perMinute, tokens },
});
const inMs = (call: Call | undefined): number => (call === undefined ? Number.NaN : call.at - call.now);
const ids = (calls: readonly Call[]): string[] => calls.map((c) => c.stream.streamId.slice("task:w0t".length));

export function flowConformance(what: string, get: () => FlowUnderTest): void {
  describe(what, () => {
    beforeEach(() => get().empty());
    const enter = (n: number, ...gates: Gate[]): Promise<Entered> => get().flow.enter(stream(n), gates, LEASE_MS);
    const leave = (n: number, ...keys: string[]): Promise<readonly Call[]> => get().flow.leave(stream(n), keys);
    const enters = async (n: number, ...gates: Gate[]): Promise<readonly Call[]> => {
      const entered = await enter(n, ...gates);
      expect([n, entered.type]).toEqual([n, "entered"]);
      return entered.called;
    };
    const waits = async (n: number, ...gates: Gate[]): Promise<Entered & { type: "wait" }> => {
      const entered = await enter(n, ...gates);
      expect([n, entered.type]).toEqual([n, "wait"]);
      await get().pass(FLOW_SETTLE_MS); // it has parked
      return entered as Entered & { type: "wait" };
    };
    const called = (calls: readonly Call[], ...expected: number[]): void =>
      expect(ids(calls)).toEqual(expected.map(String));

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

    test("by many at once: never more than the room, and all get in", async () => {
      const { flow, other } = get();
      const three = gate("model:m", 3);
      const waiting = new Set(Array.from({ length: 40 }, (_, n) => n));
      const queue = [...waiting];
      let inside = 0;
      let most = 0;
      const work = async (own: Flow): Promise<void> => {
        for (let n = queue.shift(); n !== undefined; n = queue.shift()) {
          const entered = await own.enter(stream(n), [three], LEASE_MS);
          queue.push(...ids(entered.called).map(Number));
          if (entered.type === "wait") continue;
          waiting.delete(n);
          most = Math.max(most, ++inside);
          await Promise.resolve();
          inside--;
          queue.push(...ids(await own.leave(stream(n), ["model:m"])).map(Number));
        }
      };
      await Promise.all([flow, other, flow, other, flow].map(work));
      expect(most).toBeLessThanOrEqual(3);
      expect([...waiting]).toEqual([]);
    });
  });
}
