// The function that the pulse and the minute schedule call.
import { cronTimes } from "../../shared/adapters/cron/croner.ts";
import { depthOf } from "../../shared/adapters/queue/sqs-depth.ts";
import { createSchedules } from "../../shared/adapters/store/schedules.ts";
import { createTotals } from "../../shared/adapters/store/totals.ts";
import { GUARDIAN_POOL_CONNECTIONS } from "../../shared/core/limits.ts";
import { required } from "../aws-environment.ts";
import { createGuardianHandler } from "../guardian.ts";
import { lambda } from "../lambda.ts";
import { createLongWork, createPulseHandler } from "../pulse.ts";

export const handler = lambda({
  name: "guardian",
  connections: { appends: 1, pool: GUARDIAN_POOL_CONNECTIONS },
  make: ({ engine, database, pulse, agents, sendBeat, longWorkers }, log) => {
    const longUrl = required(process.env, "queues").byName["tasks-long"];
    const waiting = async (): Promise<number> => (await depthOf(longUrl)).waiting;
    return createPulseHandler({
      pulse,
      agents,
      log,
      sendBeat,
      guardian: createGuardianHandler({
        ...engine,
        schedules: createSchedules(database),
        totals: createTotals(database),
        cron: cronTimes,
      }),
      longWork: longWorkers === null ? null : createLongWork(longWorkers, waiting, log),
    });
  },
});
