// Renews the leases of this worker's writers in one statement per agent, and tells a writer what its stream heard meanwhile. What else a stream holds for as
// long as it is worked on (its places at gates) is renewed with the same beat.
import { messageOf } from "../core/errors.ts";
import { HEARTBEATS_PER_LEASE } from "../core/limits.ts";
import type { Log } from "../ports/log.ts";
import type { Lease, StreamRef, StreamStore } from "../ports/store.ts";

/** A writer's side of its lease. Both callbacks are quick and must not throw. */
export interface Holder {
  readonly lease: Lease;
  /** The stream's inbox as of now: beyond what was absorbed, a fact waits. */
  onInbox(inboxSeq: number): void;
  /** Somebody else has the stream: stop all work on it (I12). */
  onLost(): void;
}

export interface LeaseKeeper {
  /** From now on the lease is renewed. Returns how to let go of it. */
  hold(holder: Holder): () => void;
  /** The writer of this stream in this worker, if any, looks at its inbox now: a nudge for a running stream. */
  poke(agent: string, runId: string, streamId: string): void;
  /** Streams written here right now. */
  readonly size: number;
  /** Renews at once; the timer calls it. Resolves when answered. */
  beat(): Promise<void>;
  close(): void;
}

/** What else goes with a beat. */
export interface Beat {
  /** Told which streams are written here; may reject. */
  renew?(held: readonly StreamRef[], leaseMs: number): Promise<void>;
  /** Told of each run among them that somebody watches. */
  heed?(runId: string): void;
}

export function createLeaseKeeper(streams: StreamStore, leaseMs: number, log: Log, also: Beat = {}): LeaseKeeper {
  const holders = new Set<Holder>();
  let timer: NodeJS.Timeout | undefined;

  const beatFor = async (some: readonly Holder[]): Promise<void> => {
    if (some.length === 0) return;
    try {
      const renewed = await streams.renew(
        some.map((h) => h.lease),
        leaseMs,
      );
      for (const [i, holder] of some.entries()) {
        const answer = renewed[i];
        if (!holders.has(holder) || answer === undefined) continue; // let go meanwhile
        if (answer.watched) also.heed?.(holder.lease.stream.runId);
        if (answer.held) holder.onInbox(answer.inboxSeq);
        else holder.onLost();
      }
    } catch (e) {
      // The lease may still be good: the next append or beat tells.
      log.warn("leases not renewed", { error: messageOf(e) });
    }
  };
  const beat = async (): Promise<void> => {
    const all = [...holders];
    if (all.length === 0) return;
    const held = all.map((h) => h.lease.stream);
    const places = also.renew?.(held, leaseMs).catch((e) => log.warn("places not renewed", { error: messageOf(e) }));
    await Promise.all([beatFor(all), places]);
  };
  const schedule = (): void => {
    if (timer !== undefined || holders.size === 0) return;
    const own = setTimeout(async () => {
      await beat();
      if (timer !== own) return; // let go of, and taken up again, meanwhile: that one has its own
      timer = undefined;
      schedule();
    }, leaseMs / HEARTBEATS_PER_LEASE);
    own.unref();
    timer = own;
  };

  return {
    hold: (holder) => {
      holders.add(holder);
      schedule();
      return () => {
        holders.delete(holder);
        if (holders.size > 0) return;
        clearTimeout(timer); // a frozen timer would fire at thaw
        timer = undefined;
      };
    },
    poke: (agent, runId, streamId) => {
      for (const h of holders) {
        const s = h.lease.stream;
        if (s.agent === agent && s.runId === runId && s.streamId === streamId) void beatFor([h]);
      }
    },
    get size() {
      return holders.size;
    },
    beat,
    close: () => {
      clearTimeout(timer);
      timer = undefined;
      holders.clear();
    },
  };
}
