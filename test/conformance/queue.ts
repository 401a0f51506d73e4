// What every twin of the queue keeps (I9).
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { RECEIVES_MAX } from "../../shared/core/limits.ts";
import type { Hint, Outgoing, Queue, QueueName, Received } from "../../shared/ports/queue.ts";

export interface QueueUnderTest {
  readonly queue: Queue;
  /** The same messages, seen by another worker. */
  readonly other: Queue;
  empty(): Promise<void>;
  /** False where the service doesn't know it (SQS standard queues). */
  readonly dedupes: boolean;
  /** False where workers find out by asking alone (SQS). */
  readonly tellsOthers?: boolean;
  /** False where an overtaken receipt still deletes (an emulator of SQS; SQS itself answers well and deletes nothing). */
  readonly fencesReceipts?: boolean;
  /** How late a message may show after its time: whole seconds and more (SQS). Default: at once. */
  readonly lateMs?: number;
}

const hint = (taskId: string | null = null): Hint => ({ agent: "crew", runId: randomUUID(), taskId });
const tick = (more: Partial<Outgoing> = {}): Outgoing => ({ queue: "ticks", hint: hint(), ...more });
const HIDE_MS = 60_000;

export function queueConformance(what: string, get: () => QueueUnderTest): void {
  describe(what, () => {
    beforeEach(() => get().empty());
    const receive = (max = 10, queue: QueueName = "ticks", hideMs = HIDE_MS) => get().queue.receive(queue, max, hideMs);
    /** What shows up from its time on, which is now. */
    const arrived = async (): Promise<Received[]> => {
      const deadline = performance.now() + (get().lateMs ?? 0);
      for (;;) {
        const messages = await receive();
        if (messages.length > 0 || performance.now() > deadline) return messages;
        await sleep(100);
      }
    };
    const only = (messages: readonly Received[]): Received => {
      expect(messages).toHaveLength(1);
      return messages[0] as Received;
    };

    test("a message arrives once, with its ids, and is gone when deleted", async () => {
      const { queue } = get();
      const sent = hint("w0t0");
      await queue.send([{ queue: "tasks-short", hint: sent }]);
      const message = only(await receive(10, "tasks-short"));
      expect(JSON.parse(message.body)).toEqual(sent);
      expect(message).toMatchObject({ queue: "tasks-short", receiveCount: 1 });
      expect(await receive(10, "tasks-short")).toEqual([]);
      await queue.delete("tasks-short", [message.receipt]);
      await queue.delete("tasks-short", [message.receipt]); // again: nothing
      expect(await get().other.receive("tasks-short", 10, HIDE_MS)).toEqual([]);
    });

    test("queues don't mix, and nothing is received from an empty one", async () => {
      await get().queue.send([tick()]);
      expect(await receive(10, "tasks-long")).toEqual([]);
      expect(await receive()).toHaveLength(1);
      await get().queue.send([]);
    });

    test("no more than asked for, and every message of many once", async () => {
      const { queue, other } = get();
      await queue.send(Array.from({ length: 25 }, () => tick()));
      const seen = new Set<string>();
      for (let rounds = 0; seen.size < 25 && rounds < 10; rounds++) {
        const batches = await Promise.all([queue.receive("ticks", 4, HIDE_MS), other.receive("ticks", 4, HIDE_MS)]);
        for (const batch of batches) {
          expect(batch.length).toBeLessThanOrEqual(4);
          for (const m of batch) {
            expect(seen.has(m.messageId)).toBe(false);
            seen.add(m.messageId);
          }
        }
      }
      expect(seen.size).toBe(25);
    });

    test("a delayed message isn't there before its time", async () => {
      await get().queue.send([tick({ delayMs: 1_500 })]);
      expect(await receive()).toEqual([]);
      await sleep(1_600);
      expect(await arrived()).toHaveLength(1);
    });

    test("what isn't deleted in time comes again, under another receipt, and the old one is worth nothing", async () => {
      const { queue } = get();
      await queue.send([tick()]);
      const first = only(await receive(10, "ticks", 1_000));
      await sleep(1_100);
      const second = only(await arrived());
      expect(second).toMatchObject({ messageId: first.messageId, receiveCount: 2 });
      expect(second.receipt).not.toBe(first.receipt);
      if (get().fencesReceipts !== false) {
        await queue.delete("ticks", [first.receipt]);
        await queue.release("ticks", first.receipt, 0);
      }
      expect(await receive()).toEqual([]); // the second receive still hides it
      await queue.release("ticks", second.receipt, 0);
      expect(only(await receive()).receiveCount).toBe(3);
    });

    test("a receipt that never was one changes nothing", async () => {
      await get().queue.delete("ticks", ["nonsense", "1.nonsense", ""]);
      await get().queue.release("ticks", "nonsense", 0);
    });

    test("released later, a message stays hidden longer: work that goes on keeps its message", async () => {
      const { queue } = get();
      await queue.send([tick()]);
      const { receipt } = only(await receive(10, "ticks", 1_000));
      await queue.release("ticks", receipt, HIDE_MS);
      await sleep(1_100);
      expect(await receive()).toEqual([]);
      await queue.delete("ticks", [receipt]);
    });

    test(`after ${RECEIVES_MAX} receives it is a dead letter, seen by nobody else, until it is recorded`, async () => {
      const { queue } = get();
      const sent = hint();
      await queue.send([{ queue: "ticks", hint: sent }]);
      for (let n = 1; n <= RECEIVES_MAX; n++) {
        const message = only(await receive());
        expect(message.receiveCount).toBe(n);
        await queue.release("ticks", message.receipt, 0);
      }
      expect(await receive()).toEqual([]);
      const dead = only(await queue.receiveDead(10, HIDE_MS));
      expect(dead.queue).toBe("ticks");
      expect([RECEIVES_MAX, RECEIVES_MAX + 1]).toContain(dead.receiveCount); // SQS counts this receive too
      expect(JSON.parse(dead.body)).toEqual(sent);
      expect(await queue.receiveDead(10, HIDE_MS)).toEqual([]); // hidden while it is being recorded
      await queue.deleteDead([dead.receipt]);
      await queue.deleteDead([dead.receipt]);
    });

    test("an arrival is told to this worker and to others", async () => {
      const { queue, other } = get();
      const here: string[] = [];
      const there: string[] = [];
      const stops = [queue.onArrival((name) => here.push(name)), other.onArrival((name) => there.push(name))];
      await sleep(300); // the first calls may say that something might have been missed
      here.length = 0;
      there.length = 0;
      await queue.send([{ queue: "tasks-short", hint: hint("w0t0") }]);
      for (let tries = 0; get().tellsOthers !== false && tries < 40 && !there.includes("tasks-short"); tries++)
        await sleep(25);
      expect(here).toContain("tasks-short");
      if (get().tellsOthers !== false) expect(there).toContain("tasks-short");
      for (const stop of stops) stop();
      here.length = 0;
      await queue.send([tick()]);
      expect(here).toEqual([]);
    });

    describe("deduplication while unclaimed", () => {
      const skip = () => !get().dedupes;
      const dedupeKey = "tick-1";
      test("one key, one message, within a batch and across", async () => {
        if (skip()) return;
        const { queue, other } = get();
        await queue.send([tick({ dedupeKey }), tick({ dedupeKey }), tick({ dedupeKey: "tick-2" })]);
        await Promise.all([queue.send([tick({ dedupeKey })]), other.send([tick({ dedupeKey }), tick()])]);
        expect(await receive()).toHaveLength(3);
      });
      test("a claimed one stops nobody: what is sent during its work comes again", async () => {
        if (skip()) return;
        const { queue } = get();
        await queue.send([tick({ dedupeKey })]);
        const first = only(await receive());
        await queue.send([tick({ dedupeKey })]);
        await queue.release("ticks", first.receipt, 0);
        expect(await receive()).toHaveLength(2);
      });
      test("the same key in two queues is two messages", async () => {
        if (skip()) return;
        await get().queue.send([tick({ dedupeKey }), { queue: "tasks-solo", hint: hint(), dedupeKey }]);
        expect(await receive()).toHaveLength(1);
        expect(await receive(10, "tasks-solo")).toHaveLength(1);
      });
      test("a delayed one doesn't hold back one that is due now", async () => {
        if (skip()) return;
        await get().queue.send([tick({ dedupeKey, delayMs: 60_000 })]);
        await get().queue.send([tick({ dedupeKey })]);
        expect(await receive()).toHaveLength(1);
      });
      test("I9: a send beside a claim of its twin is never swallowed by it", async () => {
        if (skip()) return;
        const { queue, other } = get();
        for (let round = 0; round < 40; round++) {
          await queue.send([tick({ dedupeKey })]);
          const [claimed] = await Promise.all([other.receive("ticks", 10, HIDE_MS), queue.send([tick({ dedupeKey })])]);
          const rest = await queue.receive("ticks", 10, HIDE_MS);
          // Either the second was sent before the claim (one message), or it is a message of its own.
          expect(claimed.length + rest.length).toBeGreaterThanOrEqual(1);
          if (claimed.length === 0) expect(rest).toHaveLength(1);
          await queue.delete(
            "ticks",
            [...claimed, ...rest].map((m) => m.receipt),
          );
        }
      });
    });
  });
}
