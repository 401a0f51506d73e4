// Virtual time, and the one place where it is chosen what happens next. Everything that waits in the simulation waits at a point: a statement before
// its snapshot, before a lock and before its commit, an answer on its way back, a timer. Between two points code runs until nothing moves any more.
import { createHash } from "node:crypto";
import type { Random } from "./random.ts";

/** Something that can go on: at `at` by the virtual clock, or later. */
interface Point {
  readonly owner: string;
  readonly label: string;
  readonly at: number;
  /** Most are equal; a few are slow, so that whatever can overtake them does. */
  readonly weight: number;
  go(): void;
}

/** An afternoon of 2030. Nothing may depend on it. */
const EPOCH = Date.UTC(2030, 5, 1, 12);
const SLOW_WEIGHT = 0.02;

export class Scheduler {
  now = EPOCH;
  steps = 0;
  /** Owners whose points stand still: a paused worker. */
  readonly frozen = new Set<string>();
  /** Owners that are gone: their points never go on. */
  readonly #dead = new Set<string>();
  readonly #random: Random;
  readonly #adverse: boolean;
  readonly #slow: number;
  readonly #trace = createHash("sha256");
  readonly story: string[] = [];
  #points: Point[] = [];

  /** `adverse` false: first come, first served. `slow`: the share of points that let others overtake them. */
  constructor(random: Random, { adverse, slow }: { readonly adverse: boolean; readonly slow: number }) {
    this.#slow = slow;
    this.#random = random;
    this.#adverse = adverse;
  }

  /** Resolves when it is chosen. Never, if its owner dies first. */
  point(owner: string, label: string, delayMs = 0): Promise<void> {
    return new Promise((go) => void this.#add(owner, label, delayMs, go));
  }

  /** Resolves after `ms`, or at once when the signal aborts. */
  sleep(owner: string, label: string, ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    return new Promise((go) => {
      const point = this.#add(owner, label, ms, go);
      signal?.addEventListener(
        "abort",
        () => {
          const before = this.#points.length;
          this.#points = this.#points.filter((p) => p !== point);
          if (this.#points.length < before) go();
        },
        { once: true },
      );
    });
  }

  /** The owner is gone: nothing of it goes on. */
  drop(owner: string): void {
    this.#dead.add(owner);
    this.#points = this.#points.filter((p) => p.owner !== owner);
  }

  /** Chooses among what can go on now. False: nothing can before time passes. */
  async step(): Promise<boolean> {
    const ready = this.#points.filter((p) => p.at <= this.now && !this.frozen.has(p.owner));
    const chosen = this.#adverse ? this.#choose(ready) : ready[0];
    if (chosen === undefined) return false;
    this.steps++;
    this.#points.splice(this.#points.indexOf(chosen), 1);
    this.note(`${chosen.owner} ${chosen.label}`);
    if (this.#adverse) this.now += this.#random.int(4);
    chosen.go();
    await settled();
    return true;
  }

  /** When the next thing can go on; Infinity: nothing ever will by itself. */
  nextAt(): number {
    let at = Number.POSITIVE_INFINITY;
    for (const p of this.#points) if (!this.frozen.has(p.owner)) at = Math.min(at, p.at);
    return at;
  }

  note(what: string): void {
    const line = `${this.now - EPOCH} ${what}`;
    this.story.push(line);
    this.#trace.update(line).update("\n");
  }

  /** Of all that happened, in order: equal for equal seeds. */
  trace(): string {
    return this.#trace.copy().digest("hex");
  }

  #add(owner: string, label: string, delayMs: number, go: () => void): Point {
    const weight = this.#adverse && this.#random.chance(this.#slow) ? SLOW_WEIGHT : 1;
    const point = { owner, label, at: this.now + delayMs, weight, go };
    if (!this.#dead.has(owner)) this.#points.push(point);
    return point;
  }

  #choose(ready: readonly Point[]): Point | undefined {
    let left = this.#random.next() * ready.reduce((sum, p) => sum + p.weight, 0);
    for (const point of ready) {
      left -= point.weight;
      if (left < 0) return point;
    }
    return ready.at(-1);
  }
}

/** Until promises and ticks have run dry: after a turn of the event loop no code of this process moves before the next point goes on. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
