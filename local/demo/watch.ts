// Follows the run by its log, as closely as the moments need it, and keeps the tree on the screen true.
import { setTimeout as sleep } from "node:timers/promises";
import { TorenError } from "../../shared/core/errors.ts";
import { readRun } from "../../shared/engine/read-run.ts";
import { type RunJson, runJson } from "../../shared/http/run-json.ts";
import { waveNames } from "../client/follow.ts";
import type { Screen } from "../terminal/steps-screen.ts";
import type { WaveNames } from "../terminal/tree.ts";
import type { Worker } from "../worker-process.ts";
import { type Reading, readTasks } from "./moments.ts";
import type { Stage } from "./stage.ts";

export interface Watch {
  /** The log as it is now. */
  read(): Promise<Reading>;
  /** Reads until `look` finds something. @throws DemoFailed when that takes too long or the worker that is at work ends by itself. */
  until<T>(look: (reading: Reading) => T | null | Promise<T | null>, worker: Worker): Promise<T>;
  view(): Promise<{ readonly run: RunJson; readonly names: WaveNames }>;
}

/** The demo can't go on, or ended wrong, for a reason that isn't in the error table: exit 1. */
export class DemoFailed extends Error {}

/** Well below the shortest call of the rule-based model (300 ms), so that no moment slips through. */
const READ_MS = 40;
const DRAW_MS = 200;

/** `limitMs`: for the whole run. */
export function watchRun(stage: Stage, screen: Screen, runId: string, limitMs: number, signal: AbortSignal): Watch {
  const { agent, engine, api } = stage;
  const deadline = performance.now() + limitMs;
  let names: WaveNames = new Map();
  let drawnAt = Number.NEGATIVE_INFINITY;

  const read = async (): Promise<Reading> => {
    const { runs } = engine.store;
    const [run, streams, calls] = await Promise.all([
      runs.get(agent, runId),
      runs.streams(agent, runId),
      runs.callEvents(agent, runId),
    ]);
    return { ended: run !== null && run.endedAt !== null, tasks: readTasks(streams, calls) };
  };
  const view = async () => {
    const found = await readRun(engine, { agent, runId });
    if (found === null) throw new TorenError("run.unknown", `Run ${runId} is gone.`);
    const run = runJson(found);
    if (run.waves.some(({ wave }) => wave >= 0 && !names.has(wave))) names = await waveNames(api, runId);
    return { run, names };
  };
  const draw = async (now: boolean): Promise<void> => {
    if (!now && performance.now() - drawnAt < DRAW_MS) return;
    drawnAt = performance.now();
    const { run, names } = await view();
    screen.run(run, names);
  };
  return {
    read,
    view,
    until: async (look, worker) => {
      for (;;) {
        signal.throwIfAborted();
        const reading = await read();
        const found = await look(reading);
        await draw(found !== null);
        if (found !== null) return found;
        const end = worker.ended();
        if (end !== null)
          throw new DemoFailed(`Worker ${worker.pid} ended by itself (${end}): see ${stage.stateFolder}/worker.log.`);
        if (performance.now() > deadline)
          throw new DemoFailed(
            `The run isn't at its end after ${Math.round(limitMs / 1_000)} s; see ${stage.stateFolder}/worker.log.`,
          );
        await sleep(READ_MS);
      }
    },
  };
}
