// The pump's claims: which queue may be asked for how much, and when. One request a lane at a time; a full answer, or a wake-up meanwhile, asks again.
import { failureFields } from "../functions/failures.ts";
import { NACK_MS, QUEUE_BACKOFF_MAX_MS, QUEUE_BATCH_MESSAGES } from "../shared/core/limits.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Queue, QueueName, Received } from "../shared/ports/queue.ts";

/** A queue and the slots that it shares with others of its kind. */
export interface Lane {
  readonly queue: QueueName;
  readonly slots: { readonly max: number; used: number };
  /** Looked at again when a slot or the worker gets free: more may wait. */
  wanted: boolean;
  asking: boolean;
}

export const lane = (queue: QueueName, slots: Lane["slots"]): Lane => ({ queue, slots, wanted: false, asking: false });

export interface LanesDeps {
  readonly queue: Queue;
  readonly log: Log;
  readonly lanes: readonly Lane[];
  readonly visibilityMs: number;
  /** False while nothing may be claimed. */
  open(): boolean;
  /** Takes over a claimed message and its slot, which it gives back by `slots.used--` and `freed()`. */
  begin(lane: Lane, message: Received): void;
}

export interface Lanes {
  /** Messages of this queue may have come. */
  arrived(queue: QueueName): void;
  /** Asks every queue: what nobody told of. */
  look(): void;
  /** A slot, or the worker, is free again. */
  freed(): void;
  /** Whether an answer is still to come. */
  asking(): boolean;
}

export function createLanes(deps: LanesDeps): Lanes {
  const { queue, lanes, visibilityMs } = deps;
  const away = createAway(deps.log);
  const free = (l: Lane): number => {
    if (!deps.open() || away.waiting()) return 0;
    return Math.min(l.slots.max - l.slots.used, QUEUE_BATCH_MESSAGES);
  };
  const fill = async (l: Lane): Promise<void> => {
    l.wanted = true;
    if (l.asking) return;
    l.asking = true;
    while (l.wanted && free(l) > 0) {
      l.wanted = false;
      const max = free(l);
      l.slots.used += max; // another lane with the same slots may ask too
      const messages = await receive(l, max);
      l.slots.used -= max - messages.length;
      l.wanted ||= messages.length === max;
      for (const message of messages) deps.begin(l, message);
    }
    l.asking = false;
    freed(); // those who found the slots taken while this one asked
  };
  const receive = async (l: Lane, max: number): Promise<readonly Received[]> => {
    try {
      const messages = await queue.receive(l.queue, max, visibilityMs);
      away.answered();
      return messages;
    } catch (e) {
      away.failed(e);
      l.wanted = true;
      return [];
    }
  };
  const freed = (): void => {
    for (const l of lanes) if (l.wanted && free(l) > 0) void fill(l);
  };
  return {
    arrived: (name) => {
      away.maybeBack();
      for (const l of lanes) if (l.queue === name) void fill(l);
    },
    look: () => {
      for (const l of lanes) void fill(l);
    },
    freed,
    asking: () => lanes.some((l) => l.asking),
  };
}

/** A database that is away: asked again after a wait that doubles, up to half a minute, and told of once. */
function createAway(log: Log): { failed(e: unknown): void; answered(): void; maybeBack(): void; waiting(): boolean } {
  let failures = 0;
  let until = 0;
  return {
    waiting: () => performance.now() < until,
    maybeBack: () => {
      until = 0; // something was sent, or the listener is connected again
    },
    failed: (e) => {
      if (failures === 0) log.warn("the queue doesn't answer", failureFields(e));
      until = performance.now() + Math.min(NACK_MS * 2 ** failures, QUEUE_BACKOFF_MAX_MS);
      failures++;
    },
    answered: () => {
      if (failures > 0) log.info("the queue answers again", { failures });
      failures = 0;
      until = 0;
    },
  };
}
