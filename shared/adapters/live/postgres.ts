// Pieces of answers by Postgres' notifications: on a laptop and on RDS alike. A worker sends while somebody watches; who watches says so in a row that runs out.
import { randomUUID } from "node:crypto";
import { LIVE_BATCH_MS, LIVE_PIECES_MAX, LIVE_WATCH_MS, LIVE_WATCH_RENEW_MS } from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import type { LiveIn, LiveOut, LivePiece } from "../../ports/live.ts";
import { QUERIES } from "../../sql/queries.ts";
import type { Notices } from "../database/notices.ts";
import { createShownCall, type ShownCall } from "./calls.ts";
import { piecesOf, readPiece, WATCHED, writePiece } from "./channels.ts";

export interface LiveOutOptions {
  readonly database: Pick<Database, "pool">;
  /** Left out: this worker only hears of watchers by its leases. */
  readonly notices?: Notices;
}

export function createLiveOut({ database, notices }: LiveOutOptions): LiveOut {
  const calls = new Set<ShownCall>();
  /** Until when each run is watched, by this process' own clock. */
  const watched = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | null = null;
  const isWatched = (runId: string): boolean => (watched.get(runId) ?? 0) > performance.now();
  const due = (): ShownCall[] => [...calls].filter((call) => call.due && isWatched(call.runId));
  const send = async (): Promise<void> => {
    const channels: string[] = [];
    const payloads: string[] = [];
    for (const call of due())
      for (const piece of call.pieces(LIVE_PIECES_MAX - payloads.length)) {
        channels.push(piecesOf(call.runId));
        payloads.push(writePiece(piece));
      }
    if (payloads.length > 0) await database.pool.query(QUERIES.notify, [channels, payloads]).catch(() => {}); // they are hints: the log has the answer
  };
  const soon = (): void => {
    if (timer !== undefined || sending !== null || due().length === 0) return;
    timer = setTimeout(() => {
      timer = undefined;
      sending = send().finally(() => {
        sending = null;
        soon();
      });
    }, LIVE_BATCH_MS).unref();
  };
  const end = (call: ShownCall): void => {
    calls.delete(call);
    if (calls.size > 0) return;
    clearTimeout(timer); // a frozen timer would fire at thaw
    timer = undefined;
  };
  const heed = (runId: string): void => {
    const now = performance.now();
    for (const [known, until] of watched) if (until <= now) watched.delete(known);
    watched.set(runId, now + LIVE_WATCH_MS);
    soon();
  };
  let stop: (() => void) | undefined;
  const heard = (payload: string): void => {
    const [runId = "", word] = payload.split(" ");
    if (word === "new") for (const call of calls) if (call.runId === runId) call.rewind();
    heed(runId);
  };
  return {
    heed,
    isWatched,
    call: ({ runId, streamId }, step) => {
      stop ??= notices?.on(WATCHED, heard);
      const call = createShownCall(runId, { stream: streamId, ...step });
      calls.add(call);
      return {
        show: (delta) => {
          call.take(delta);
          if (isWatched(runId)) soon();
        },
        end: () => end(call),
      };
    },
    rest: async () => {
      await sending;
    },
    close: async () => {
      stop?.();
      for (const call of calls) end(call);
      await sending;
    },
  };
}

export interface LiveInOptions {
  readonly database: Pick<Database, "pool">;
  readonly notices: Notices;
}

interface Watched {
  readonly ears: Set<(piece: LivePiece) => void>;
  leave(): void;
}

export function createLiveIn({ database, notices }: LiveInOptions): LiveIn {
  const watcher = randomUUID();
  const runs = new Map<string, Watched>();
  /** Best effort: what is lost here is said again, or runs out. */
  const tell = async (verb: "watch-run" | "unwatch-run", values: unknown[]): Promise<void> => {
    await database.pool.query(QUERIES[verb], values).catch(() => {});
  };
  const begin = (runId: string): Watched => {
    const ears: Watched["ears"] = new Set();
    const say = (isNew: boolean): Promise<void> => tell("watch-run", [runId, watcher, LIVE_WATCH_MS, WATCHED, isNew]);
    const heard = (payload: string): void => {
      const piece = readPiece(payload);
      if (piece !== null) for (const ear of ears) ear(piece);
    };
    const stop = notices.on(piecesOf(runId), heard, () => void say(true));
    const timer = setInterval(() => void say(false), LIVE_WATCH_RENEW_MS).unref();
    return {
      ears,
      leave: () => {
        stop();
        clearInterval(timer);
        runs.delete(runId);
        void tell("unwatch-run", [runId, watcher]);
      },
    };
  };
  return {
    watch: (runId, on) => {
      const run = runs.get(runId) ?? begin(runId);
      runs.set(runId, run);
      run.ears.add(on);
      if (run.ears.size > 1) void tell("watch-run", [runId, watcher, LIVE_WATCH_MS, WATCHED, true]);
      return () => {
        if (run.ears.delete(on) && run.ears.size === 0) run.leave();
      };
    },
    close: async () => {
      for (const run of runs.values()) run.leave();
    },
  };
}
