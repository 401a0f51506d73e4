// Pieces of answers by Postgres' notifications: on a laptop and on RDS alike. A worker sends while somebody watches; who watches says so in a row that runs out.
import { randomUUID } from "node:crypto";
import { LIVE_BATCH_MS, LIVE_GREW_MS, LIVE_PIECES_MAX, LIVE_WATCH_MS, LIVE_WATCH_RENEW_MS } from "../../core/limits.ts";
import { NO_SEALER } from "../../core/sealing.ts";
import type { Database } from "../../ports/database.ts";
import type { LiveIn, LiveOut, LivePiece } from "../../ports/live.ts";
import type { DataKey, Sealer } from "../../ports/sealer.ts";
import { QUERIES } from "../../sql/queries.ts";
import type { Notices } from "../database/notices.ts";
import { createShownCall, type ShownCall } from "./calls.ts";
import { GREW, openPiece, piecesOf, readPiece, WATCHED, writePiece } from "./channels.ts";

export interface LiveOutOptions {
  readonly database: Pick<Database, "pool" | "sealer">;
  /** Left out: this worker only hears of watchers by its leases. */
  readonly notices?: Notices;
}

export function createLiveOut({ database, notices }: LiveOutOptions): LiveOut {
  const ownKey = createOwnKey(database.sealer ?? NO_SEALER);
  const calls = new Set<ShownCall>();
  /** Runs whose log has grown since it was last said. */
  const grown = new Set<string>();
  const { note, isWatched } = createWatched();
  const due = (): ShownCall[] => [...calls].filter((call) => call.due && isWatched(call.runId));
  const send = async (): Promise<void> => {
    const said = [...grown].map((runId): Notice => [piecesOf(runId), GREW]);
    grown.clear();
    const key = due().length === 0 ? undefined : await ownKey();
    if (key !== undefined) said.push(...piecesSaid(due(), LIVE_PIECES_MAX - said.length, key));
    const columns = [said.map(([channel]) => channel), said.map(([, payload]) => payload)];
    if (said.length > 0) await database.pool.query(QUERIES.notify, columns).catch(() => {}); // they are hints: the log has the answer
  };
  const batches = createBatches(send, () => (grown.size > 0 ? LIVE_GREW_MS : due().length > 0 ? LIVE_BATCH_MS : null));
  const end = (call: ShownCall): void => {
    calls.delete(call);
    if (calls.size === 0 && grown.size === 0) batches.stop(); // a frozen timer would fire at thaw
  };
  const heed = (runId: string): void => {
    note(runId);
    batches.soon();
  };
  let stop: (() => void) | undefined;
  const rewind = (seen: (runId: string) => boolean): void => {
    for (const call of calls) if (seen(call.runId)) call.rewind();
    batches.soon();
  };
  const heard = (payload: string): void => {
    const [runId = "", word] = payload.split(" ");
    if (word === "new") rewind((id) => id === runId);
    heed(runId);
  };
  return {
    heed,
    isWatched,
    call: ({ runId, streamId }, step) => {
      stop ??= notices?.on(WATCHED, heard, () => rewind(isWatched)); // whoever came while it didn't listen has seen nothing yet
      const call = createShownCall(runId, { stream: streamId, ...step });
      calls.add(call);
      return {
        show: (delta) => {
          call.take(delta);
          if (isWatched(runId)) batches.soon();
        },
        end: () => end(call),
      };
    },
    grew: (runId) => {
      if (!isWatched(runId) || grown.has(runId)) return;
      if (grown.size === 0) batches.stop(); // sooner than pieces would go
      grown.add(runId);
      batches.soon();
    },
    rest: async () => {
      await batches.rest();
      if (grown.size > 0) batches.now();
      await batches.rest();
    },
    close: async () => {
      stop?.();
      for (const call of calls) end(call);
      grown.clear();
      batches.stop();
      await batches.rest();
    },
  };
}

type Notice = readonly [channel: string, payload: string];
function piecesSaid(calls: readonly ShownCall[], most: number, key: DataKey | null): Notice[] {
  const said: Notice[] = [];
  for (const call of calls)
    for (const piece of call.pieces(Math.max(0, most - said.length)))
      said.push([piecesOf(call.runId), writePiece(piece, key)]);
  return said;
}

/** One for all that a worker says; it is kept nowhere. Null: nothing is sealed here. Undefined: there is none now, and nothing is said in clear instead. */
function createOwnKey(sealer: Sealer): () => Promise<DataKey | null | undefined> {
  let key: DataKey | null | undefined = sealer.on ? undefined : null;
  return async () => {
    if (key === undefined) key = await sealer.fresh(`live-${randomUUID()}`).catch(() => undefined);
    return key;
  };
}

/** Until when each run is watched, by this process' own clock. */
function createWatched() {
  const untils = new Map<string, number>();
  return {
    isWatched: (runId: string): boolean => (untils.get(runId) ?? 0) > performance.now(),
    note: (runId: string): void => {
      const now = performance.now();
      for (const [known, until] of untils) if (until <= now) untils.delete(known);
      untils.set(runId, now + LIVE_WATCH_MS);
    },
  };
}

/** One statement at a time. `dueMs`: in how many milliseconds the next is due; null: there is nothing to send. */
function createBatches(send: () => Promise<void>, dueMs: () => number | null) {
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | null = null;
  const stop = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  const now = (): void => {
    stop();
    sending = send().finally(() => {
      sending = null;
      soon();
    });
  };
  const soon = (): void => {
    const ms = dueMs();
    if (timer === undefined && sending === null && ms !== null) timer = setTimeout(now, ms).unref();
  };
  return {
    soon,
    now,
    stop,
    rest: async (): Promise<void> => {
      await sending;
    },
  };
}

export interface LiveInOptions {
  readonly database: Pick<Database, "pool" | "sealer">;
  readonly notices: Notices;
}

interface Ear {
  readonly piece: (piece: LivePiece) => void;
  readonly grew: () => void;
}
interface Watched {
  readonly ears: Set<Ear>;
  leave(): void;
}

/** Pieces in the order in which they came. What can't be opened is lost, as any piece may be. */
function createOpening(sealer: Sealer) {
  let last: Promise<void> = Promise.resolve();
  let known: DataKey | undefined;
  return (piece: LivePiece, wrapped: string, say: (piece: LivePiece) => void): void => {
    last = last
      .then(async () => {
        if (known?.wrapped !== wrapped) known = await sealer.unwrap(wrapped);
        say(openPiece(piece, known));
      })
      .catch(() => {});
  };
}

export function createLiveIn({ database, notices }: LiveInOptions): LiveIn {
  const watcher = randomUUID();
  const runs = new Map<string, Watched>();
  const opening = createOpening(database.sealer ?? NO_SEALER);
  /** Best effort: what is lost here is said again, or runs out. */
  const tell = async (verb: "watch-run" | "unwatch-run", values: unknown[]): Promise<void> => {
    await database.pool.query(QUERIES[verb], values).catch(() => {});
  };
  const begin = (runId: string): Watched => {
    const ears: Watched["ears"] = new Set();
    const watch = (isNew: boolean): Promise<void> => tell("watch-run", [runId, watcher, LIVE_WATCH_MS, WATCHED, isNew]);
    const say = (piece: LivePiece): void => {
      for (const ear of ears) ear.piece(piece);
    };
    const heard = (payload: string): void => {
      const said = payload === GREW ? null : readPiece(payload);
      if (said === null) for (const ear of payload === GREW ? ears : []) ear.grew();
      else if (said.key === null) say(said.piece);
      else opening(said.piece, said.key, say);
    };
    const stop = notices.on(piecesOf(runId), heard, () => void watch(true));
    const timer = setInterval(() => void watch(false), LIVE_WATCH_RENEW_MS).unref();
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
    watch: (runId, on, grew = () => {}) => {
      const run = runs.get(runId) ?? begin(runId);
      runs.set(runId, run);
      const ear: Ear = { piece: on, grew };
      run.ears.add(ear);
      if (run.ears.size > 1) void tell("watch-run", [runId, watcher, LIVE_WATCH_MS, WATCHED, true]);
      return () => {
        if (run.ears.delete(ear) && run.ears.size === 0) run.leave();
      };
    },
    close: async () => {
      for (const run of runs.values()) run.leave();
    },
  };
}
