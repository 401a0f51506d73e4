// When a stream wakes by itself. Its `wake_at` is the truth, and the guardian reads it; a timer only makes somebody look at the right second.
// Twins: adapters/timers/postgres.ts on a laptop, adapters/timers/scheduler.ts on AWS.
import type { Outgoing } from "./queue.ts";

export interface Timers {
  /**
   * Has the message sent at `dueAt`, not before it, a second or so after it. `now` is the store's clock as of the decision: only the difference counts (I8).
   * Best effort, at least once, never rejects for what the guardian makes up for; a time that is past sends at once. The message's own delay is not used.
   */
  set(message: Outgoing, dueAt: number, now: number): Promise<void>;
}
