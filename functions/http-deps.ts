// The routes' dependencies over an engine: the same on a laptop and behind API Gateway.

import { cronTimes } from "../shared/adapters/cron/croner.ts";
import { createPdfReader } from "../shared/adapters/files/pdf.ts";
import { createDeadLetters } from "../shared/adapters/queue/dead-letters.ts";
import { createAudit } from "../shared/adapters/store/audit.ts";
import { createInspection } from "../shared/adapters/store/inspection.ts";
import { createKeys } from "../shared/adapters/store/keys.ts";
import { createOverview } from "../shared/adapters/store/overview.ts";
import { createSchedules } from "../shared/adapters/store/schedules.ts";
import { createTotals } from "../shared/adapters/store/totals.ts";
import { type LoadProblem, problemText } from "../shared/authoring/problem.ts";
import { addFile } from "../shared/engine/add-file.ts";
import { cancelRun, resumeRun } from "../shared/engine/cancel-run.ts";
import { sendAgain } from "../shared/engine/dead-letters.ts";
import type { EngineDeps } from "../shared/engine/deps.ts";
import { eraseRun, pruneRuns } from "../shared/engine/erase-runs.ts";
import { exportRun } from "../shared/engine/export-run.ts";
import { forkRun } from "../shared/engine/fork-run.ts";
import { readCall } from "../shared/engine/read-call.ts";
import { readRun } from "../shared/engine/read-run.ts";
import { readTurns } from "../shared/engine/read-turns.ts";
import { retryRun } from "../shared/engine/retry-run.ts";
import { changeSchedule, createSchedule } from "../shared/engine/schedules.ts";
import { decideApproval, decideCut, sendMessage, sendSignal } from "../shared/engine/speak-to-task.ts";
import { startRun } from "../shared/engine/start-run.ts";
import type { HttpDeps } from "../shared/http/deps.ts";
import type { Database } from "../shared/ports/database.ts";
import type { Caller } from "../shared/ports/keys.ts";
import type { LiveIn } from "../shared/ports/live.ts";

export interface HttpOptions {
  readonly engine: EngineDeps;
  /** Left out: readers see what is recorded alone. */
  readonly live?: LiveIn;
  /** Of agents that aren't served; asked for at each start of a run. */
  problems(): readonly LoadProblem[];
  readonly console?: HttpDeps["console"];
  /** Asked before the database's keys; null: it doesn't know this one. Default: nobody is. */
  readonly knows?: (key: string) => Promise<Caller | null>;
  readonly database: Database;
  /** How many messages wait in the queues. */
  readonly queues: HttpDeps["metrics"]["queues"];
  /** Of this process; left out: it appends nothing. */
  readonly appends?: NonNullable<HttpDeps["metrics"]["appends"]>;
}

export function httpDeps(options: HttpOptions): HttpDeps {
  const { engine, problems, database, knows, console, live } = options;
  const readPdf = createPdfReader();
  const keys = createKeys(database);
  const deadLetters = createDeadLetters(database);
  const inspection = createInspection(database);
  const schedules = createSchedules(database);
  const scheduling = { ...engine, schedules, cron: cronTimes };
  return {
    useCases: {
      startRun: async (request) => {
        const broken = problems().filter((problem) => problem.agent === request.agent || problem.agent === "");
        if (engine.agents.get(request.agent) !== null || broken.length === 0) return startRun(engine, request);
        return { type: "refused", error: { code: "agent.invalid", message: broken.map(problemText).join("; ") } };
      },
      cancelRun: (request) => cancelRun(engine, request),
      resumeRun: (request) => resumeRun(engine, request),
      decideApproval: (decision) => decideApproval(engine, decision),
      decideCut: (decision) => decideCut(engine, decision),
      retryRun: (request) => retryRun(engine, request),
      forkRun: (request) => forkRun(engine, request),
      eraseRun: (request) => eraseRun(engine, request),
      pruneRuns: (request) => pruneRuns(engine, request),
      sendDeadLetter: (messageId) => sendAgain({ deadLetters, queue: engine.queue }, messageId),
      exportRun: (request) => exportRun(engine, request),
      sendMessage: (message) => sendMessage(engine, message),
      sendSignal: (signal) => sendSignal(engine, signal),
      addFile: (file) => addFile({ files: engine.files, readPdf }, file),
      createSchedule: (request, createdBy) => createSchedule(scheduling, request, createdBy),
      changeSchedule: (schedule, change) => changeSchedule(scheduling, schedule, change),
      scheduleTimes: async ({ cron, zone }, count) =>
        count === 0 ? [] : cronTimes.next(cron, zone, await engine.store.streams.now(), count),
      readRun: (request) => readRun(engine, request),
      readCall: (request) => readCall({ ...engine, inspection }, request),
      readTurns: (request) => readTurns(engine, request),
    },
    store: engine.store,
    inspection,
    agents: engine.agents,
    deadLetters,
    files: engine.files,
    log: engine.log,
    admit: async (key) => {
      const caller = (await knows?.(key)) ?? null;
      return caller === null ? await keys.admit(key) : { type: "admitted", caller };
    },
    keys,
    audit: createAudit(database),
    schedules,
    overview: createOverview(database),
    metrics: { totals: createTotals(database), queues: options.queues, appends: options.appends ?? null },
    sleep: engine.sleep,
    ...(console === undefined ? {} : { console }),
    ...(live === undefined ? {} : { live }),
  };
}
