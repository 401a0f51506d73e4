// What every twin of the flow control keeps: bind it to a flow by saying how to pass its time. Time is passed, not waited for.
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Flow } from "../../shared/ports/flow.ts";
import { createFlowBench, type FlowUnderTest, gate, ids, LEASE_MS, stream } from "./flow/bench.ts";
import { coolDownSuite } from "./flow/cool-downs.ts";
import { placeSuite } from "./flow/places.ts";
import { rateSuite } from "./flow/rates.ts";
import { severalSuite } from "./flow/several.ts";
import { timeSuite } from "./flow/time.ts";

export function flowConformance(what: string, get: () => FlowUnderTest): void {
  describe(what, () => {
    beforeEach(() => get().empty());
    const bench = createFlowBench(get);
    placeSuite(bench);
    timeSuite(bench);
    severalSuite(bench);
    rateSuite(bench);
    coolDownSuite(bench);

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
