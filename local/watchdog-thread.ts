// The watchdog's own thread: it alone still runs when the event loop of the worker doesn't.
import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";
import type { WatchdogMemory } from "./watchdog.ts";

const { counters, note, limitMs, lookMs }: WatchdogMemory = workerData;
let turns = Atomics.load(counters, 0);
let lookedAt = performance.now();
let silentMs = 0;

setInterval(() => {
  const now = performance.now();
  // A process that was paused as a whole (SIGSTOP, a closed lid) was not silent: one look counts as two at most.
  silentMs += Math.min(now - lookedAt, 2 * lookMs);
  lookedAt = now;
  const seen = Atomics.load(counters, 0);
  if (seen !== turns) silentMs = 0;
  turns = seen;
  if (silentMs >= limitMs) lastWords();
}, lookMs);

function lastWords(): void {
  const what = new TextDecoder().decode(note.slice(0, Atomics.load(counters, 1)));
  const working = what === "" ? "" : ` It was working on: ${what}.`;
  try {
    writeSync(
      2,
      `toren: this worker's event loop stood still for ${Math.round(silentMs / 1_000)} s; ending it.${working}\n`,
    );
  } finally {
    process.kill(process.pid, "SIGKILL");
  }
}
