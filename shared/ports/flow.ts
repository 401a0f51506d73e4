// How much is done at once, over all workers: calls under way to one model, tasks worked on of one wave or agent. A gate has a key (`model:<name>`,
// `wave:<run>:<n>`, `agent:<name>`); who is inside holds a place until it leaves or its lease runs out, who has to wait is in one gate's queue. Places and
// queues are counted by the store's clock (I8), and nothing here is the truth about a run: losing all of it costs waiting time, no work.
// Twins: adapters/flow (Postgres), the simulation's own in test/sim.
import type { StreamRef } from "./store.ts";

export interface Gate {
  readonly key: string;
  /** Places; null: only the cool-down and the rate hold anybody back. Streams that ask with different numbers each keep to their own. */
  readonly max: number | null;
  /**
   * Tokens a minute, and how many this entry may take; null: no rate. A bucket that holds a minute's worth and runs out evenly; who wants more than it
   * holds gets in when it is empty.
   */
  readonly rate: { readonly perMinute: number; readonly tokens: number } | null;
}

/**
 * A waiting stream whose turn has come (`at` is `now`, by the store's clock), or comes at `at`: at a cool-down's end, or when a rate has room. Nudge it then.
 * It has first claim on that room for FLOW_CALL_MS.
 */
export interface Call {
  readonly stream: StreamRef;
  readonly at: number;
  readonly now: number;
}

export type Entered =
  | { readonly type: "entered"; readonly called: readonly Call[] }
  /**
   * The stream holds none of these gates now, not even those that it was inside of. It is in the queue of the gate `key`, in the order in which it began to
   * wait; whoever makes room there calls it. `retryAt`: when to look again if nobody does, in milliseconds since 1970 by the store's clock, which is `now`.
   * (A gate with neither places nor a rate has no queue: who finds it cooling waits at one of the others, if there are any, first in line until then.)
   */
  | {
      readonly type: "wait";
      readonly key: string;
      readonly retryAt: number;
      readonly now: number;
      readonly called: readonly Call[];
    };

export interface CoolDowns {
  /** The store's clock. */
  readonly now: number;
  /** By key of the gate, when it ends. Only those that haven't ended. */
  readonly until: ReadonlyMap<string, number>;
}

/** Every method may reject with TorenError `database.unavailable`. */
export interface Flow {
  /**
   * All of the gates (of distinct keys) or none, in one round trip. Idempotent: a stream that is inside already is entered, and its place renewed for
   * `leaseMs`. Fair: a newcomer comes before nobody who waits, unless there is room for all of them. A waiting stream that isn't heard of for minutes after
   * its `retryAt`, or doesn't come when it is called, loses its turn.
   */
  enter(stream: StreamRef, gates: readonly Gate[], leaseMs: number): Promise<Entered>;
  /**
   * Gives back places and turns, and the tokens that were estimated too high (`tokens`: really used, by key; left out: as estimated). Idempotent; a gate
   * that the stream isn't at is passed over. Returns whose turn it is now, oldest first. A call that is lost on the way is made anew by whoever comes next.
   */
  leave(
    stream: StreamRef,
    keys: readonly string[],
    tokens?: Readonly<Record<string, number>>,
  ): Promise<readonly Call[]>;
  /** Renews the places of streams that are worked on here, in one statement. A place that was lost meanwhile stays lost. */
  renew(streams: readonly StreamRef[], leaseMs: number): Promise<void>;
  /** Nobody enters by this key for `ms`, the longest of what was asked; whoever is inside goes on. */
  coolDown(key: string, ms: number): Promise<void>;
  /** All cool-downs that haven't ended: one cheap read, for gates that nobody is counted at. */
  coolDowns(): Promise<CoolDowns>;
}
