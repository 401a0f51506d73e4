// Follows a run, to its end or to where it waits: reads it anew whenever its log has grown. What is shown is always a whole reading, never a sum of events that one can miss.
import { setTimeout as sleep } from "node:timers/promises";
import { TorenError } from "../../shared/core/errors.ts";
import { EVENTS_WAIT_MAX_MS } from "../../shared/core/limits.ts";
import type { PageEvent } from "../../shared/http/events-page.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { isEnded, type WaveNames } from "../terminal/tree.ts";
import type { Api } from "./api.ts";

/** Between two readings of a run whose log grows all the time; of a large one longer, so that watching it costs the server a fifth of its time at most. */
const READ_MS = 300;
const READ_PAUSES = 4;
/** A server that restarts, or waits for its database, may stay away this long. */
const PATIENCE_MS = 60_000;
const RETRY_MS = 1_000;
/** A worker that is there begins a run at once. */
const UNBEGUN_WAIT_S = 5;
const UNBEGUN = "Nobody has begun with it yet. If no worker runs, start one: `toren worker`, or `toren dev`.";

export interface Following {
  /** Called with every reading, and once with the last. */
  onRun(run: RunJson, names: WaveNames): void;
  /** Said once when the server or its database goes away, and when nobody seems to work on the run. */
  onTrouble(text: string): void;
  /** The server is gone: another one to go on with, or null to wait for this one. */
  reconnect(): Promise<Api | null>;
  /** What the log has grown by. */
  onEvents?(events: readonly PageEvent[]): void;
  /** When to stop before its end. Default: never. */
  until?(run: RunJson): boolean;
}

export interface Follower {
  /** The server that it follows the run at. */
  readonly api: Api;
  /** Up to where its log has been read: a cursor. */
  readonly after: string;
  /** The run as soon as it is as wanted, or has ended; null: the signal aborted before. @throws TorenError what the server said, when it is no passing trouble. */
  until(wanted: (run: RunJson) => boolean, signal: AbortSignal): Promise<RunJson | null>;
}

export const followRun = (
  api: Api,
  runId: string,
  following: Following & { readonly signal: AbortSignal },
): Promise<RunJson | null> => createFollower(api, runId, following).until(following.until ?? isEnded, following.signal);

/** Keeps its place in the run's log from one wait to the next. */
export function createFollower(api: Api, runId: string, following: Following): Follower {
  const names = new Map<number, string>();
  const place = { api, after: "", saidUnbegun: false };
  return {
    get api() {
      return place.api;
    },
    get after() {
      return place.after;
    },
    until: (wanted, signal) => follow(place, runId, names, { ...following, wanted, signal }),
  };
}

interface Waiting extends Following {
  wanted(run: RunJson): boolean;
  readonly signal: AbortSignal;
}

async function follow(
  place: { api: Api; after: string; saidUnbegun: boolean },
  runId: string,
  names: Map<number, string>,
  following: Waiting,
): Promise<RunJson | null> {
  const { signal } = following;
  let troubleSince: number | null = null;
  let waitS = 0; // it may be as wanted already
  while (!signal.aborted) {
    try {
      const page = await place.api.events(runId, { after: place.after, wait: String(waitS) }, signal);
      place.after = page.next;
      noteNames(names, page.events);
      following.onEvents?.(page.events);
      if (page.more) continue;
      const silent = waitS > 0 && page.events.length === 0;
      const began = performance.now();
      const run = await place.api.run(runId);
      const tookMs = performance.now() - began;
      troubleSince = null;
      following.onRun(run, names);
      if (silent && run.status === "created" && !place.saidUnbegun) {
        place.saidUnbegun = true;
        following.onTrouble(UNBEGUN);
      }
      waitS = run.status === "created" && !place.saidUnbegun ? UNBEGUN_WAIT_S : EVENTS_WAIT_MAX_MS / 1_000;
      if (isEnded(run) || following.wanted(run)) return run;
      await sleep(Math.max(READ_MS, READ_PAUSES * tookMs), undefined, { signal });
    } catch (thrown) {
      if (signal.aborted) return null;
      if (!(thrown instanceof TorenError) || !PASSING.has(thrown.code)) throw thrown;
      if (troubleSince === null) following.onTrouble(`${thrown.message} Waiting for it …`);
      troubleSince ??= performance.now();
      if (performance.now() - troubleSince > PATIENCE_MS) throw thrown;
      if (thrown.code === "server.unreachable") place.api = (await following.reconnect()) ?? place.api;
      await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
    }
  }
  return null;
}

const PASSING: ReadonlySet<string> = new Set(["server.unreachable", "database.unavailable"]);

function noteNames(names: Map<number, string>, events: readonly PageEvent[]): void {
  for (const { type, payload } of events) {
    if (type !== "WavePlanned") continue;
    const { wave, name } = payload as { wave?: unknown; name?: unknown };
    if (typeof wave === "number" && typeof name === "string") names.set(wave, name);
  }
}

/** The names of a run's waves, from its own stream. */
export async function waveNames(api: Api, runId: string): Promise<WaveNames> {
  const names = new Map<number, string>();
  for (let after = "0", more = true; more; ) {
    const page = await api.events(runId, { stream: "run", after });
    noteNames(names, page.events);
    ({ next: after, more } = page);
  }
  return names;
}
