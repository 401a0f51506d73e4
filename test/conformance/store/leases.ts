import { describe, expect, test } from "@jest/globals";
import type { Lease } from "../../../shared/ports/store.ts";
import { type Bench, completed, event, SHORT_LEASE_MS, uuid, wave } from "./bench.ts";

export function leaseSuite(get: () => Bench): void {
  describe("leases", () => {
    test("I2: one of many who ask at once gets the stream", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, i) => b.acquire(stream, { store: i % 2 ? b.store : b.other })),
      );
      expect(answers.map((a) => a.type).sort()).toEqual(["acquired", ...Array(7).fill("leased")]);
    });

    test("the same owner asking again gets the same epoch, and no attempt is counted", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const owner = uuid();
      const first = await b.take(stream, { owner });
      const again = await b.take(stream, { owner });
      expect(again.lease.epoch).toBe(first.lease.epoch);
      expect(again.lease.attempts).toBe(1);
    });

    test("I12: when a lease has run out another takes it, and the zombie writes nothing", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const zombie = await b.take(stream, { leaseMs: SHORT_LEASE_MS });
      await b.passTime(SHORT_LEASE_MS + 20);
      const heir = await b.take(stream, { store: b.other });
      expect(heir.lease.epoch).toBeGreaterThan(zombie.lease.epoch);
      expect(await zombie.append([event("NowRead")])).toEqual({ type: "conflict" });
      expect(await zombie.append([event("NowRead")], { type: "release", afterMs: 0 })).toEqual({ type: "conflict" });
      await heir.write([event("RandomRead")]);
      expect(await b.types(stream)).toEqual(["RunCreated", "RandomRead"]);
    });

    test("I12: a zombie whose head is the heir's is refused by its epoch alone, in both forms", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const zombie = await b.take(stream, { leaseMs: SHORT_LEASE_MS });
      await b.passTime(SHORT_LEASE_MS + 20);
      const heir = await b.take(stream);
      expect(heir.head).toBe(zombie.head);
      const [plain, end] = [await zombie.append([event("NowRead")]), await zombie.append([event("X")], completed())];
      expect([plain.type, end.type]).toEqual(["conflict", "conflict"]);
      expect(await b.types(stream)).toEqual(["RunCreated"]);
      expect((await b.streamRow(stream)).status).toBe("running");
    });

    test("a lease that ran out and that nobody took is still its owner's", async () => {
      const b = get();
      const writer = await b.take(b.stream(await b.run()), { leaseMs: SHORT_LEASE_MS });
      await b.passTime(SHORT_LEASE_MS + 20);
      await writer.write([event("NowRead")]);
    });

    test("an append renews the lease", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const writer = await b.take(stream, { leaseMs: 600 });
      await b.passTime(400);
      await writer.write([event("NowRead")]);
      await b.passTime(400);
      expect((await b.acquire(stream)).type).toBe("leased");
    });

    test("renewal tells who still holds, and how far the inbox reaches", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const lost = await b.take(b.stream(await b.run()), { leaseMs: SHORT_LEASE_MS });
      const held = await b.take(stream, { leaseMs: SHORT_LEASE_MS });
      await b.store.streams.deliver(stream, "k", { kind: "hold", wave: 0 });
      await b.passTime(SHORT_LEASE_MS + 20);
      await b.take(lost.lease.stream);
      const answers = await b.store.streams.renew([lost.lease, held.lease], 10_000);
      expect(answers.map((a) => [a.held, a.inboxSeq])).toEqual([
        [false, 0],
        [true, 1],
      ]);
      expect(Math.abs((answers[0]?.now ?? 0) - (await b.store.streams.now()))).toBeLessThan(5_000);
      expect((await b.acquire(stream)).type).toBe("leased");
    });

    test("a released stream is free, and whoever released it writes no more under that epoch", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const writer = await b.take(stream);
      expect((await writer.write([], { type: "release", afterMs: 0 })).status).toBe("ready");
      expect(await writer.append([event("NowRead")])).toEqual({ type: "conflict" });
      expect(await writer.append([], { type: "release", afterMs: 0 })).toEqual({ type: "conflict" });
      expect((await b.acquire(stream)).type).toBe("acquired");
    });

    test("attempts count acquisitions without progress, apart those alone in a worker", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const crash = async (solo: boolean): Promise<Lease> => {
        const { lease } = await b.take(stream, { leaseMs: 1, solo });
        await b.passTime(5);
        return lease;
      };
      expect(await crash(false)).toMatchObject({ attempts: 1, soloAttempts: 0 });
      expect(await crash(true)).toMatchObject({ attempts: 2, soloAttempts: 1 });
      const third = await b.take(stream);
      await third.write([event("NowRead")]);
      await third.write([], { type: "release", afterMs: 0, keepAttempts: true });
      const fourth = await b.take(stream, { leaseMs: 1 });
      expect(fourth.lease).toMatchObject({ attempts: 4, soloAttempts: 1 });
      await fourth.write([event("StepCompleted")], { type: "run" }, { progress: true });
      await b.passTime(5);
      const fifth = await b.take(stream);
      expect(fifth.lease).toMatchObject({ attempts: 1, soloAttempts: 0 });
      await fifth.write([], { type: "release", afterMs: 0 });
      expect((await b.take(stream)).lease.attempts).toBe(1);
    });

    test("I7: what a newer generation wrote is left alone by an older one", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const newer = await b.take(stream, { generation: 7 });
      await newer.write([], { type: "release", afterMs: 0 });
      expect(await b.acquire(stream, { generation: 6 })).toEqual({ type: "newer", generation: 7 });
      expect((await b.acquire(stream, { generation: 7 })).type).toBe("acquired");
    });

    test("I7: what a generation started or planned isn't begun by an older one", async () => {
      const b = get();
      const runId = await b.run({ generation: 4 });
      expect(await b.acquire(b.stream(runId), { generation: 3 })).toEqual({ type: "newer", generation: 4 });
      const run = await b.take(b.stream(runId), { generation: 5 });
      await run.plan(wave(0, 1));
      expect(await b.acquire(b.stream(runId, "task:w0t0"), { generation: 4 })).toEqual({
        type: "newer",
        generation: 5,
      });
      expect((await b.acquire(b.stream(runId, "task:w0t0"), { generation: 5 })).type).toBe("acquired");
    });

    test("ended and missing streams are said to be so", async () => {
      const b = get();
      const { tasks } = await b.planned(1);
      const [task] = tasks;
      if (task === undefined) throw new Error("no task");
      await b.end(task);
      expect(await b.acquire(task)).toEqual({ type: "ended" });
      expect(await b.acquire(b.stream(uuid()))).toEqual({ type: "missing" });
    });
  });
}
