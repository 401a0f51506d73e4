// What every twin of the timers port keeps, for times that the queue can delay to. Later ones differ in their means: see each twin's own tests.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Outgoing, Queue } from "../../shared/ports/queue.ts";
import type { Timers } from "../../shared/ports/timers.ts";

export interface TimersUnderTest {
  readonly timers: Timers;
  readonly queue: Queue;
  empty(): Promise<void>;
}

export function timersConformance(what: string, get: () => TimersUnderTest): void {
  describe(what, () => {
    beforeEach(() => get().empty());
    const message = (taskId: string | null): Outgoing => ({
      queue: taskId === null ? "ticks" : "tasks-short",
      hint: { agent: "crew", runId: randomUUID(), taskId },
    });
    /** When it came, from now on; null: not within `ms`. */
    const arrives = async ({ queue, hint }: Outgoing, ms: number): Promise<number | null> => {
      const began = performance.now();
      while (performance.now() - began < ms) {
        const [received] = await get().queue.receive(queue, 1, 60_000);
        if (received !== undefined) {
          expect(JSON.parse(received.body)).toEqual(hint);
          return performance.now() - began;
        }
        await sleep(100);
      }
      return null;
    };

    test("a message comes at its time, not before, and at most some seconds after", async () => {
      const soon = message(null);
      await get().timers.set(soon, 5_002_000, 5_000_000); // by a clock of the store's own (I8)
      const came = await arrives(soon, 6_000);
      expect(came).toBeGreaterThan(1_900);
      expect(came).toBeLessThan(5_500);
    });

    test("a time that is past is now", async () => {
      const past = message("w0t0");
      await get().timers.set(past, 1_000, 5_000_000);
      expect(await arrives(past, 1_500)).not.toBeNull();
    });
  });
}
