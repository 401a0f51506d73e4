// Ends a worker whose event loop stands still (`while (true)` in a workflow): it can renew no lease, and nothing else in it gets on. Its streams are taken
// over by others, who count the crash; after enough of them the stream runs alone, and fails in the end.
import { url as inspectorUrl } from "node:inspector";
import { Worker } from "node:worker_threads";
import { LEASE_MS, WATCHDOG_NOTE_BYTES } from "../shared/core/limits.ts";

export interface Watchdog {
  /** Notes what is worked on, for the last words; call what it returns when that is done. */
  working(what: string): () => void;
  stop(): Promise<void>;
}

/** Turns looked for in a limit's length. */
const LOOKS_PER_LIMIT = 10;

interface WatchdogMemory {
  /** [0] counts the event loop's turns, [1] is the length of the note. */
  readonly counters: Int32Array<SharedArrayBuffer>;
  readonly note: Uint8Array<SharedArrayBuffer>;
  readonly limitMs: number;
  readonly lookMs: number;
}

/** From now on the worker dies by SIGKILL after `limitMs` (a lease's length) without a turn of its event loop. Not under a debugger, which stops it on purpose. */
export function startWatchdog(limitMs = LEASE_MS): Watchdog {
  if (inspectorUrl() !== undefined) return { working: () => () => {}, stop: async () => {} };
  const lookMs = Math.ceil(limitMs / LOOKS_PER_LIMIT);
  const memory: WatchdogMemory = {
    counters: new Int32Array(new SharedArrayBuffer(8)),
    note: new Uint8Array(new SharedArrayBuffer(WATCHDOG_NOTE_BYTES)),
    limitMs,
    lookMs,
  };
  const turn = setInterval(() => Atomics.add(memory.counters, 0, 1), lookMs);
  turn.unref();
  // By its text: a deployed bundle has no second file to start a thread from.
  const source = `(${watch})(require("node:worker_threads").workerData, require("node:fs").writeSync)`;
  const thread = new Worker(source, {
    eval: true,
    workerData: memory,
    // It needs nothing of the worker's: neither its flags nor a heap worth the name.
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 16 },
  });
  thread.unref();
  thread.on("error", () => {}); // a worker without a watchdog is still a worker

  const current = new Set<{ what: string }>();
  const write = (): void => {
    const text = [...current].map((c) => c.what).join("; ");
    const { written } = new TextEncoder().encodeInto(text, memory.note);
    Atomics.store(memory.counters, 1, written);
  };
  return {
    working: (what) => {
      const entry = { what };
      current.add(entry);
      write();
      return () => {
        current.delete(entry);
        write();
      };
    },
    stop: async () => {
      clearInterval(turn);
      await thread.terminate();
    },
  };
}

/** The watchdog's own thread: it alone still runs when the event loop of the worker doesn't. Its text is sent there, so it sees its parameters and globals alone. */
function watch(memory: WatchdogMemory, writeSync: (fd: number, text: string) => number): void {
  const { counters, note, limitMs, lookMs } = memory;
  let turns = Atomics.load(counters, 0);
  let lookedAt = performance.now();
  let silentMs = 0;
  setInterval(() => {
    const now = performance.now();
    // A process that was paused as a whole (SIGSTOP, a closed lid, a frozen function) was not silent: one look counts as two at most.
    silentMs += Math.min(now - lookedAt, 2 * lookMs);
    lookedAt = now;
    const seen = Atomics.load(counters, 0);
    if (seen !== turns) silentMs = 0;
    turns = seen;
    if (silentMs < limitMs) return;
    const what = new TextDecoder().decode(note.slice(0, Atomics.load(counters, 1)));
    const working = what === "" ? "" : ` It was working on: ${what}.`;
    const seconds = Math.round(silentMs / 1_000);
    try {
      writeSync(2, `toren: this worker's event loop stood still for ${seconds} s; ending it.${working}\n`);
    } finally {
      process.kill(process.pid, "SIGKILL");
    }
  }, lookMs);
}
