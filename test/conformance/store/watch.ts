import { describe, expect, test } from "@jest/globals";
import { type Bench, completed, event, SHORT_LEASE_MS } from "./bench.ts";

export function watchSuite(get: () => Bench): void {
  /** Whether the guardian's look finds the run's own stream; the back-off is long enough for the next look to come before it. */
  const isDue = async (b: Bench, runId: string, backOffMs = 60_000): Promise<boolean> =>
    (await b.store.watch.due(b.agent, 500, backOffMs)).some((d) => d.runId === runId && d.streamId === "run");

  describe("watch", () => {
    test("a ready stream is due after its grace, once per back-off", async () => {
      const b = get();
      const runId = await b.run();
      expect(await isDue(b, runId)).toBe(false);
      await (await b.take(b.stream(runId))).write([], { type: "release", afterMs: 500 });
      expect(await isDue(b, runId)).toBe(false);
      await b.passTime(600);
      expect(await isDue(b, runId, 1_500)).toBe(true);
      expect(await isDue(b, runId, 1_500)).toBe(false);
      await b.passTime(1_600);
      expect(await isDue(b, runId)).toBe(true);
    });

    test("I8: a live lease isn't nudged, however often it is looked at; a dead one is", async () => {
      const b = get();
      const runId = await b.run();
      const writer = await b.take(b.stream(runId), { leaseMs: SHORT_LEASE_MS });
      await b.passTime(SHORT_LEASE_MS / 2);
      await b.store.streams.renew([writer.lease], 4 * SHORT_LEASE_MS);
      await b.passTime(SHORT_LEASE_MS);
      expect(await isDue(b, runId)).toBe(false); // its clock was corrected to the lease's end
      await b.passTime(4 * SHORT_LEASE_MS);
      expect(await isDue(b, runId)).toBe(true);
      expect((await b.acquire(b.stream(runId))).type).toBe("acquired"); // being looked at renews nothing
    });

    test("due streams say how often they crashed", async () => {
      const b = get();
      const runId = await b.run();
      for (const solo of [false, true]) {
        await b.take(b.stream(runId), { leaseMs: 1, solo });
        await b.passTime(5);
      }
      const due = await b.store.watch.due(b.agent, 500, 60_000);
      expect(due.find((d) => d.runId === runId)).toEqual({
        runId,
        streamId: "run",
        role: null,
        attempts: 2,
        soloAttempts: 1,
      });
    });

    test("I10: what waits for a fact, and what has ended, is never due", async () => {
      const b = get();
      const [parked, ended] = [await b.run(), await b.run()];
      await (await b.take(b.stream(parked))).write([], { type: "park", absorbed: 0, wait: "wave", wakeAt: null });
      await (await b.take(b.stream(ended))).write([event("RunCompleted")], completed());
      for (const id of [parked, ended]) expect((await b.streamRow(b.stream(id))).wakeAt).toBeNull();
    });

    test("I10: the audit leaves alone whoever waits rightly, over as many pages as there are", async () => {
      const b = get();
      for (let i = 0; i < 5; i++)
        await (await b.take(b.stream(await b.run()))).write([], {
          type: "park",
          absorbed: 0,
          wait: "wave",
          wakeAt: null,
        });
      let pages = 0;
      for (let after: string | null = null; ; pages++) {
        const page = await b.store.watch.audit(b.agent, after, 2);
        expect(page.fixed).toEqual([]);
        if (page.next === null) break;
        after = page.next;
      }
      expect(pages).toBeGreaterThanOrEqual(2);
    });

    test("stepping back leaves a note and a time; progress clears it; a live lease isn't touched", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const problem = { code: "cut.storm", message: "a\u0000b" };
      await b.store.watch.defer(stream, problem, 20_000);
      const now = await b.store.streams.now();
      const row = await b.streamRow(stream);
      expect(row.problem).toEqual(problem);
      expect(Math.abs((row.wakeAt ?? 0) - now - 20_000)).toBeLessThan(5_000);
      const writer = await b.take(stream);
      await b.store.watch.defer(stream, { code: "generation.older", message: "x" }, 1);
      expect((await b.streamRow(stream)).problem).toEqual(problem);
      await writer.write([event("A")]);
      expect((await b.streamRow(stream)).problem).toBeNull();
    });

    test("whoever parks without a word has worked on the stream: the note of an earlier one is gone", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      await b.store.watch.defer(stream, { code: "generation.older", message: "x" }, 20_000);
      const given = await b.take(stream);
      await given.write([], { type: "release", afterMs: 0 });
      expect((await b.streamRow(stream)).problem).not.toBeNull(); // given back unread, it stands
      await (await b.take(stream)).write([], { type: "park", absorbed: 0, wait: "wave", wakeAt: null });
      expect((await b.streamRow(stream)).problem).toBeNull();
    });
  });
}
