// Timers of a laptop: what the queue can delay is a message there; for later times the stream's row says when (wake_at), and the guardian's pass finds it.
// Twin on AWS: scheduler.ts.
import { QUEUE_DELAY_MAX_MS } from "../../core/limits.ts";
import type { Queue } from "../../ports/queue.ts";
import type { Timers } from "../../ports/timers.ts";

export function createPostgresTimers(queue: Pick<Queue, "send">): Timers {
  return {
    set: async (message, dueAt, now) => {
      const delayMs = Math.max(0, Math.ceil(dueAt - now));
      if (delayMs <= QUEUE_DELAY_MAX_MS) await queue.send([{ ...message, delayMs }]);
    },
  };
}
