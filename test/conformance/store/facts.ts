import { describe, expect, test } from "@jest/globals";
import type { Fact } from "../../../shared/core/events.ts";
import { type Bench, completed, event, uuid } from "./bench.ts";

const cancel = (reason: string): Fact => ({ kind: "cancel", code: "run.cancelled", reason });

export function factSuite(get: () => Bench): void {
  describe("facts", () => {
    test("I3: concurrent facts have numbers without a gap, whoever writes the stream meanwhile", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const writer = await b.take(stream);
      const writes = async (): Promise<void> => {
        for (let i = 0; i < 10; i++) await writer.write([event("A")]);
      };
      const facts = Array.from({ length: 30 }, (_, i) =>
        (i % 2 ? b.store : b.other).streams.deliver(stream, `k${i}`, cancel(`${i}`)),
      );
      const [answers] = await Promise.all([Promise.all(facts), writes()]);
      expect(answers.map((a) => a.type)).toEqual(facts.map(() => "delivered"));
      const inbox = await b.store.streams.readInbox(stream, 0);
      expect(inbox.map((i) => i.seq)).toEqual(facts.map((_, i) => i + 1));
      expect((await b.store.streams.readInbox(stream, 28)).map((i) => i.seq)).toEqual([29, 30]);
    });

    test("I3: the first fact under a key wins; the others learn which it was, and leave no gap", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, i) =>
          (i % 2 ? b.store : b.other).streams.deliver(stream, "decision", cancel(`${i}`)),
        ),
      );
      expect(answers.filter((a) => a.type === "delivered")).toHaveLength(1);
      const [only, ...more] = await b.store.streams.readInbox(stream, 0);
      expect(more).toEqual([]);
      expect(only?.seq).toBe(1);
      const duplicates = answers.filter((a) => a.type === "duplicate");
      expect(duplicates).toHaveLength(11);
      const now = await b.store.streams.now();
      for (const d of duplicates) {
        expect(d.fact).toEqual(only?.fact);
        expect(Math.abs(now - d.at)).toBeLessThan(60_000);
      }
      await b.store.streams.deliver(stream, "next", cancel("next"));
      expect((await b.store.streams.readInbox(stream, 0)).map((i) => i.seq)).toEqual([1, 2]);
    });

    test("c1: a fact holds any text", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      await b.store.streams.deliver(stream, "k", cancel("a\u0000\ud83d"));
      expect((await b.store.streams.readInbox(stream, 0))[0]).toEqual({
        seq: 1,
        key: "k",
        fact: cancel("a\u0000\ud83d"),
      });
    });

    test("I10: a fact wakes a parked stream once, and only such a one asks for a nudge", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const writer = await b.take(stream);
      expect(await b.store.streams.deliver(stream, "a", cancel("a"))).toEqual({ type: "delivered", nudge: false });
      await writer.write([], { type: "park", absorbed: 1, wait: "wave", wakeAt: null });
      expect(await b.store.streams.deliver(stream, "b", cancel("b"))).toEqual({ type: "delivered", nudge: true });
      expect(await b.streamRow(stream)).toMatchObject({ status: "ready", wait: "wave", wakeAt: expect.any(Number) });
      expect(await b.store.streams.deliver(stream, "c", cancel("c"))).toEqual({ type: "delivered", nudge: false });
    });

    test("ended and missing streams take no fact, but tell of one they had", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      await b.store.streams.deliver(stream, "early", cancel("early"));
      await (await b.take(stream)).write([event("RunCompleted")], completed());
      expect(await b.store.streams.deliver(stream, "late", cancel("late"))).toEqual({ type: "ended" });
      expect(await b.store.streams.deliver(stream, "early", cancel("twin"))).toMatchObject({
        type: "duplicate",
        fact: cancel("early"),
      });
      expect(await b.store.streams.deliver(b.stream(uuid()), "k", cancel("k"))).toEqual({ type: "missing" });
    });
  });
}
