// What a writer knows of its stream's inbox (I3): how far it reaches, how far it is absorbed, and whether a cancel waits in it.
import type { InboxItem } from "../core/events.ts";
import type { Lease, StreamStore } from "../ports/store.ts";

export interface InboxWatch {
  /** Aborts when a cancel waits, or whoever holds it says so. */
  readonly interrupt: AbortController;
  /** Number of the last fact that is known of. */
  readonly reach: number;
  /** Number of the last fact absorbed by what was buffered so far. */
  readonly absorbed: number;
  absorb(inboxSeq: number): void;
  /** Told by every append and every heartbeat. Facts may wait until the writer asks for them, but for a cancel: that one is looked for at once. */
  reached(inboxSeq: number): void;
  /** Facts that nobody has absorbed yet, in the order of their commits. */
  waiting(): Promise<InboxItem[]>;
  /** `waiting` looks the next time, whatever was heard: somebody may just have told the stream something. */
  expect(): void;
  /** Resolves when a fact waits, or the watch is interrupted. */
  heard(): Promise<void>;
}

export function watchInbox(streams: Pick<StreamStore, "readInbox">, lease: Lease, cursor: number): InboxWatch {
  const interrupt = new AbortController();
  let reach = lease.inboxSeq;
  let absorbed = cursor;
  let peeked = cursor;
  let expecting = false;
  let wake: () => void = () => {};
  interrupt.signal.addEventListener("abort", () => wake(), { once: true }); // one for all that will ever wait: a workflow may wait thousands of times

  return {
    interrupt,
    get reach() {
      return reach;
    },
    get absorbed() {
      return absorbed;
    },
    absorb: (inboxSeq) => {
      absorbed = Math.max(absorbed, inboxSeq);
    },
    reached: (inboxSeq) => {
      reach = Math.max(reach, inboxSeq);
      if (reach > absorbed) wake();
      const from = Math.max(absorbed, peeked);
      if (reach <= from) return;
      peeked = reach;
      streams.readInbox(lease.stream, from).then(
        (items) => items.some((item) => item.fact.kind === "cancel") && interrupt.abort(),
        () => {
          peeked = Math.min(peeked, from); // looked at again with the next beat: a call that hangs comes to no next step
        },
      );
    },
    waiting: async () => {
      if (reach <= absorbed && !expecting) return [];
      expecting = false;
      return await streams.readInbox(lease.stream, absorbed);
    },
    expect: () => {
      expecting = true;
    },
    heard: () =>
      new Promise((resolve) => {
        wake = resolve;
        if (reach > absorbed || interrupt.signal.aborted) resolve();
      }),
  };
}
