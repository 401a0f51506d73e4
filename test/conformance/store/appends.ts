import { describe, expect, test } from "@jest/globals";
import { type Bench, event } from "./bench.ts";

export function appendSuite(get: () => Bench): void {
  describe("appends", () => {
    test("I2: events get the next numbers, in order, and are read back after any of them", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const writer = await b.take(stream);
      expect((await writer.write([event("A", { i: 1 }), event("B", { i: 2 })])).head).toBe(3);
      await writer.write([event("C", { i: 3 })]);
      const log = await b.store.streams.read(stream, 1);
      expect(log.map((e) => [e.seq, e.type, e.payload])).toEqual([
        [2, "A", { i: 1 }],
        [3, "B", { i: 2 }],
        [4, "C", { i: 3 }],
      ]);
      expect((await b.store.streams.read(stream, 1, 2)).map((e) => e.seq)).toEqual([2, 3]);
      expect(await b.store.streams.read(stream, 4)).toEqual([]);
      const now = await b.store.streams.now();
      for (const e of log) expect(Math.abs(now - e.recordedAt)).toBeLessThan(60_000);
    });

    test("I2: another head than expected writes nothing", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const writer = await b.take(stream);
      await writer.write([event("A")]);
      for (const head of [1, 3])
        expect(await writer.append([event("B")], { type: "run" }, { head })).toEqual({ type: "conflict" });
      expect(await b.types(stream)).toEqual(["RunCreated", "A"]);
    });

    test("appends of many streams at once are each answered with their own truth", async () => {
      const b = get();
      const streams = await Promise.all(Array.from({ length: 40 }, async () => b.stream(await b.run())));
      const writers = await Promise.all(streams.map((s, i) => b.take(s, { store: i % 2 ? b.store : b.other })));
      for (let round = 0; round < 5; round++) {
        const answers = await Promise.all(
          writers.map((w, i) =>
            w.append([event("A", { round, i }), event("B")], { type: "run" }, i % 10 === 9 ? { head: 99 } : {}),
          ),
        );
        for (const [i, answer] of answers.entries()) {
          expect(answer.type).toBe(i % 10 === 9 ? "conflict" : "ok");
          if (answer.type === "ok") (writers[i] as { head: number }).head = answer.head;
        }
      }
      for (const [i, stream] of streams.entries()) {
        const log = await b.store.streams.read(stream, 1);
        expect(log.map((e) => e.seq)).toEqual(i % 10 === 9 ? [] : Array.from({ length: 10 }, (_, k) => k + 2));
        for (const e of log.filter((_, k) => k % 2 === 0)) expect(e.payload.i).toBe(i);
      }
    });

    test("an append says how far the inbox reaches", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const writer = await b.take(stream);
      await b.other.streams.deliver(stream, "a", { kind: "hold", wave: 0 });
      expect((await writer.write([event("A")])).inboxSeq).toBe(1);
      await b.other.streams.deliver(stream, "b", { kind: "hold", wave: 0 });
      expect((await writer.write([event("B")])).inboxSeq).toBe(2);
    });
  });
}
