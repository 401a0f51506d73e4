// The routes' dependencies over an engine: the same on a laptop and behind API Gateway.
import { createPdfReader } from "../shared/adapters/files/pdf.ts";
import { type LoadProblem, problemText } from "../shared/authoring/problem.ts";
import { addFile } from "../shared/engine/add-file.ts";
import { cancelRun, resumeRun } from "../shared/engine/cancel-run.ts";
import type { EngineDeps } from "../shared/engine/deps.ts";
import { readCall } from "../shared/engine/read-call.ts";
import { readRun } from "../shared/engine/read-run.ts";
import { readTurns } from "../shared/engine/read-turns.ts";
import { retryRun } from "../shared/engine/retry-run.ts";
import { decideApproval, decideCut, sendMessage } from "../shared/engine/speak-to-task.ts";
import { startRun } from "../shared/engine/start-run.ts";
import type { HttpDeps } from "../shared/http/deps.ts";
import type { Inspection } from "../shared/ports/inspection.ts";

export interface HttpOptions {
  readonly engine: EngineDeps;
  readonly inspection: Inspection;
  /** Of agents that aren't served; asked for at each start of a run. */
  problems(): readonly LoadProblem[];
  readonly admits: HttpDeps["admits"];
  readonly overview: HttpDeps["overview"];
  readonly console?: HttpDeps["console"];
}

export function httpDeps({ engine, inspection, overview, problems, admits, console }: HttpOptions): HttpDeps {
  const readPdf = createPdfReader();
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
      sendMessage: (message) => sendMessage(engine, message),
      addFile: (file) => addFile({ files: engine.files, readPdf }, file),
      readRun: (request) => readRun(engine, request),
      readCall: (request) => readCall({ ...engine, inspection }, request),
      readTurns: (request) => readTurns(engine, request),
    },
    store: engine.store,
    inspection,
    agents: engine.agents,
    files: engine.files,
    log: engine.log,
    admits,
    overview,
    sleep: engine.sleep,
    ...(console === undefined ? {} : { console }),
  };
}
