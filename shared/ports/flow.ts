// How much is done at once, over all workers: calls under way to one model, tasks worked on of one wave. A gate has a key (`model:<name>`, `wave:<run>:<n>`,
// `agent:<name>`); who is inside holds a place until it leaves or its lease runs out. Places and queues are counted by the store's clock (I8), and nothing
// here is the truth about a run: losing all of it costs waiting time, no work. Twins: adapters/flow (Postgres), the simulation's own in test/sim.
import type { StreamRef } from "./store.ts";

export interface Gate {
  readonly key: string;
  /** Places; null: only the cool-down and the rate hold anybody back. */
  readonly max: number | null;
  /** Tokens a minute, and how many this entry may take; null: no rate. */
  readonly rate: { readonly perMinute: number; readonly tokens: number } | null;
}

export type Entered =
  | { readonly type: "entered" }
  /**
   * Nothing was taken. The stream is in the queue of the gate that held it back; whoever makes room names it in order (`leave`). `retryAt`: when to look
   * again if nobody does, in milliseconds since 1970 by the store's clock, which is `now`.
   */
  | { readonly type: "wait"; readonly retryAt: number; readonly now: number; readonly key: string };

/** Every method may reject with TorenError `database.unavailable`. */
export interface Flow {
  /** All of the gates or none, in one round trip. Idempotent: a stream that is inside already is entered, and its place renewed for `leaseMs`. */
  enter(stream: StreamRef, gates: readonly Gate[], leaseMs: number): Promise<Entered>;
  /** Gives back the places, and the tokens that were estimated too high (`tokens`: really used, by gate). Returns the streams that may enter now, oldest first: nudge them. */
  leave(
    stream: StreamRef,
    keys: readonly string[],
    tokens?: Readonly<Record<string, number>>,
  ): Promise<readonly StreamRef[]>;
  /** Renews the places of streams that are worked on here, in one statement. */
  renew(streams: readonly StreamRef[], leaseMs: number): Promise<void>;
  /** Nobody enters by this key for `ms`, the longest of what was asked; whoever is inside goes on. */
  coolDown(key: string, ms: number): Promise<void>;
}
