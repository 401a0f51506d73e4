// Hints on their way (I9): lost, doubled, delayed, reordered. A message that a worker dies with comes back after its visibility time.
import { TorenError } from "../../shared/core/errors.ts";
import { VISIBILITY_MS } from "../../shared/core/limits.ts";
import type { Hint, Outgoing, Queue, QueueName } from "../../shared/ports/queue.ts";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

export interface Message {
  readonly id: number;
  readonly queue: QueueName;
  readonly hint: Hint;
  readonly dedupeKey: string | undefined;
  visibleAt: number;
  receives: number;
}

export interface QueueFaults {
  readonly lost: number;
  readonly doubled: number;
  /** At most this much later than asked. */
  readonly delayMs: number;
  /** Sends that fail, whether or not the messages went out. */
  readonly failed: number;
}

export class SimQueue {
  readonly messages = new Map<number, Message>();
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #faults: () => QueueFaults;
  #last = 0;

  constructor(scheduler: Scheduler, random: Random, faults: () => QueueFaults) {
    this.#scheduler = scheduler;
    this.#random = random;
    this.#faults = faults;
  }

  /** The port as one worker sees it. Receiving is the world's doing. */
  portFor(owner: string): Queue {
    const unused = (): never => {
      throw new Error("the world receives for its workers");
    };
    return {
      send: async (messages) => {
        const faults = this.#faults();
        const fails = this.#random.chance(faults.failed);
        if (!fails || this.#random.chance(0.5)) for (const message of messages) this.#accept(message, faults);
        await this.#scheduler.point(owner, fails ? "send fails" : "sent");
        if (fails) throw new TorenError("database.unavailable", "the queue didn't answer");
      },
      receive: unused,
      delete: unused,
      release: unused,
      receiveDead: unused,
      deleteDead: unused,
      onArrival: () => () => {},
    };
  }

  visible(): Message[] {
    return [...this.messages.values()].filter((m) => m.visibleAt <= this.#scheduler.now);
  }
  /** When the next of those that can't be seen yet can be; Infinity: there are none. */
  nextVisibleAt(): number {
    const { now } = this.#scheduler;
    let at = Number.POSITIVE_INFINITY;
    for (const m of this.messages.values()) if (m.visibleAt > now) at = Math.min(at, m.visibleAt);
    return at;
  }
  receive(message: Message): void {
    message.receives++;
    message.visibleAt = this.#scheduler.now + VISIBILITY_MS;
  }

  #accept({ queue, hint, delayMs = 0, dedupeKey }: Outgoing, faults: QueueFaults): void {
    if (this.#random.chance(faults.lost)) {
      this.#scheduler.note(`lost ${queue} ${hint.taskId ?? "run"}`);
      return;
    }
    if (dedupeKey !== undefined && this.#waits(queue, dedupeKey)) return;
    for (let copies = this.#random.chance(faults.doubled) ? 2 : 1; copies > 0; copies--) {
      const late = faults.delayMs > 0 && this.#random.chance(0.3) ? this.#random.int(faults.delayMs) : 0;
      const id = ++this.#last;
      const visibleAt = this.#scheduler.now + delayMs + late;
      this.messages.set(id, { id, queue, hint, dedupeKey, visibleAt, receives: 0 });
    }
  }

  #waits(queue: QueueName, key: string): boolean {
    return [...this.messages.values()].some((m) => m.queue === queue && m.dedupeKey === key && m.receives === 0);
  }
}
