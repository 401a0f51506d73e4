// A laptop's worker: the handlers that Lambda runs, the pump that feeds them, the guardian that finds what is stalled, the watchdog over all of it.
import { createDeadLetterHandler } from "../functions/dead-letter.ts";
import { createGuardianHandler } from "../functions/guardian.ts";
import { guardRejections } from "../functions/rejections.ts";
import { createTaskHandler } from "../functions/task.ts";
import { createTickHandler } from "../functions/tick.ts";
import { startWatchdog } from "../functions/watchdog.ts";
import { cronTimes } from "../shared/adapters/cron/croner.ts";
import { createDeadLetters } from "../shared/adapters/queue/dead-letters.ts";
import { createSchedules } from "../shared/adapters/store/schedules.ts";
import { createTotals } from "../shared/adapters/store/totals.ts";
import { flushSpans, sdkProblem } from "../shared/engine/telemetry.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Laptop } from "./compose.ts";
import { startGuardianLoop } from "./guardian-loop.ts";
import { startPump } from "./pump.ts";

export interface Work {
  /** What runs comes to a step boundary and lets go of its lease; what doesn't within the drain's bound is left to others. */
  close(): Promise<void>;
}

/** `tasks` at once; undefined: as many as a worker takes. */
export function startWork(laptop: Pick<Laptop, "engine" | "database">, log: Log, tasks?: number): Work {
  const { engine, database } = laptop;
  const stopping = new AbortController();
  const stop = stopping.signal;
  guardRejections(log);
  const problem = sdkProblem();
  if (problem !== null) log.warn(problem);
  const watchdog = startWatchdog(engine.leaseMs);
  const pump = startPump({
    queue: engine.queue,
    log,
    handlers: {
      tick: createTickHandler({ engine, stop }),
      task: createTaskHandler({ engine, stop }),
      deadLetter: createDeadLetterHandler({ deadLetters: createDeadLetters(database), log }),
    },
    working: watchdog.working,
    ...(tasks === undefined ? {} : { tasks }),
  });
  const guardian = startGuardianLoop(
    createGuardianHandler({
      ...engine,
      schedules: createSchedules(database),
      totals: createTotals(database),
      cron: cronTimes,
    }),
    log,
  );
  return {
    close: async () => {
      stopping.abort();
      const [left] = await Promise.all([pump.stop(), guardian.stop()]);
      if (left > 0) log.warn("stopped before all work came to a step boundary", { left });
      await watchdog.stop();
      await flushSpans(engine.sleep);
    },
  };
}
