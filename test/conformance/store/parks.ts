import { describe, expect, test } from "@jest/globals";
import type { Next, Wait } from "../../../shared/ports/store.ts";
import { type Bench, completed, event, failed, LEASE_MS, wave } from "./bench.ts";

const park = (wait: Wait, more: { absorbed?: number; wakeAt?: number | null } = {}): Next => ({
  type: "park",
  absorbed: 0,
  wakeAt: null,
  wait,
  ...more,
});

export function parkSuite(get: () => Bench): void {
  describe("parks", () => {
    test("I10: a parked stream has no writer, and remembers what it waits for and until when", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const writer = await b.take(stream);
      const wakeAt = (await b.store.streams.now()) + 60_000;
      const parked = await writer.write([event("TimerSet")], park("timer", { wakeAt }));
      expect(parked).toMatchObject({ status: "parked", head: 2, inboxSeq: 0 });
      expect(await b.streamRow(stream)).toMatchObject({ status: "parked", wait: "timer", wakeAt, attempts: 0 });
      expect(await writer.append([event("A")])).toEqual({ type: "conflict" });
      expect((await b.take(stream)).lease.wait).toBe("timer");
    });

    test("I10: a park is refused when a fact came meanwhile; its events are written and the lease is kept", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const writer = await b.take(stream);
      await b.other.streams.deliver(stream, "k", { kind: "hold", wave: 0 });
      const refused = await writer.write([event("A")], park("wave"));
      expect(refused).toMatchObject({ status: "running", head: 2, inboxSeq: 1 });
      expect(await b.types(stream)).toEqual(["RunCreated", "A"]);
      expect((await b.acquire(stream)).type).toBe("leased");
      expect((await writer.write([event("FactIgnored", { inboxSeq: 1 })], park("wave", { absorbed: 1 }))).status).toBe(
        "parked",
      );
    });

    test("I10: whatever the moment, a fact beside a park is never forgotten", async () => {
      const b = get();
      await Promise.all(
        Array.from({ length: 25 }, async (_, i) => {
          const stream = b.stream(await b.run());
          const writer = await b.take(stream);
          const [parked, told] = await Promise.all([
            writer.write([event("A")], park("wave")),
            b.other.streams.deliver(stream, "k", { kind: "hold", wave: 0 }),
          ]);
          const row = await b.streamRow(stream);
          if (parked.status === "parked") {
            expect([i, row.status, told]).toEqual([i, "ready", { type: "delivered", nudge: true }]);
          } else {
            expect([i, row.status, told]).toEqual([i, "running", { type: "delivered", nudge: false }]);
          }
        }),
      );
    });

    test("the run's status follows its stream: created, running, waitingTimer, waitingRetry, running", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const status = async () => (await b.row(stream.runId)).status;
      expect(await status()).toBe("created");
      let writer = await b.take(stream);
      expect(await status()).toBe("running");
      const wakeAt = (await b.store.streams.now()) + 60_000;
      await writer.write([], park("timer", { wakeAt }));
      expect(await status()).toBe("waitingTimer");
      writer = await b.take(stream);
      await writer.write([event("TimerFired")]);
      expect(await status()).toBe("running");
      await writer.write([], park("retry", { wakeAt }));
      expect(await status()).toBe("waitingRetry");
      writer = await b.take(stream);
      await writer.write([], park("wave"));
      expect(await status()).toBe("running");
      writer = await b.take(stream);
      await writer.write([event("RunCompleted")], completed("out"));
      expect(await b.row(stream.runId)).toMatchObject({
        status: "completed",
        output: "out",
        error: null,
        endedAt: expect.any(Number),
      });
    });

    test.each<[Wait, string]>([
      ["timer", "waitingTimer"],
      ["retry", "waitingRetry"],
      ["signal", "waitingSignal"],
      ["cut", "waitingCut"],
    ])("a plan after a wait on %s leaves nothing of %s", async (wait, status) => {
      const b = get();
      const stream = b.stream(await b.run());
      await (await b.take(stream)).write([], park(wait));
      expect((await b.row(stream.runId)).status).toBe(status);
      await (await b.take(stream)).plan(wave(0, 1));
      expect((await b.row(stream.runId)).status).toBe("running");
    });

    test("the run waits for a decision about a cut as long as one of its streams does, terminal states above it", async () => {
      const b = get();
      const { runId, run, tasks } = await b.planned(3);
      const status = async () => (await b.row(runId)).status;
      await run.write([], park("wave"));
      const cuts = await Promise.all(tasks.map((t) => b.take(t)));
      await Promise.all(cuts.map((w) => w.write([event("CutRequested")], park("cut"))));
      expect(await status()).toBe("waitingCut");
      const [first, second, third] = await Promise.all(tasks.map((t) => b.take(t)));
      if (first === undefined || second === undefined || third === undefined) throw new Error("three tasks");
      await first.write([event("A")]);
      await second.write([event("TaskFailed", { error: { code: "bug", message: "x" } })], failed);
      expect(await status()).toBe("waitingCut");
      await third.write([], { type: "release", afterMs: 0, keepAttempts: true }); // given back unwritten: still waits
      expect(await status()).toBe("waitingCut");
      expect((await b.streamRow(third.lease.stream)).wait).toBe("cut");
      const again = await b.take(third.lease.stream);
      expect(again.lease.wait).toBe("cut");
      await again.write([], park("cut"));
      expect(await status()).toBe("waitingCut");
      await (await b.take(third.lease.stream)).write([event("A")]);
      expect(await status()).toBe("running");
      const writer = await b.take(b.stream(runId));
      await first.write([], park("cut"));
      await writer.write([event("RunFailed")], failed);
      expect(await b.row(runId)).toMatchObject({ status: "failed", error: { code: "bug" }, output: null });
    });

    test("a park for the past is due at once", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      await (await b.take(stream)).write([], park("timer", { wakeAt: (await b.store.streams.now()) - LEASE_MS }));
      const due = await b.store.watch.due(b.agent, 500, 1_000);
      expect(due.map((d) => d.runId)).toContain(stream.runId);
    });
  });
}
