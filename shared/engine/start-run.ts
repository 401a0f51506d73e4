// A run begins: its row, its stream and RunCreated in one statement, then a hint. Everything after is the tick's.

import { closest } from "../core/closest.ts";
import type { ErrorInfo } from "../core/errors.ts";
import { type Json, jsonBytes } from "../core/json.ts";
import { PAYLOAD_MAX_BYTES } from "../core/limits.ts";
import { type Budget, lower, NO_BUDGET } from "../core/task/ledger.ts";
import type { Attributes } from "../core/terms.ts";
import type { Actor } from "../ports/audit.ts";
import type { NewRun } from "../ports/store.ts";
import type { EngineDeps } from "./deps.ts";
import { nudge } from "./hints.ts";
import { type Redacted, redacted } from "./redact.ts";
import { traceStart } from "./spans.ts";

export interface StartRequest {
  readonly agent: string;
  /** Default `main`. */
  readonly process?: string;
  readonly input: Json;
  /** The same key with the same request: the run of then. */
  readonly idempotencyKey?: string;
  /** Ids of files that were added before. */
  readonly files?: readonly string[];
  /** What the run may use; where its agent has a limit of its own, the lower one holds. */
  readonly budget?: Budget;
  /** Of whoever asks (W3C Trace Context): the run's spans are in its trace. */
  readonly traceparent?: string;
  /** Labels to find it by. */
  readonly attributes?: Attributes;
  /** For the audit. */
  readonly startedBy?: Actor;
}

export type Started =
  | { readonly type: "started" | "existing"; readonly runId: string }
  | { readonly type: "refused"; readonly error: ErrorInfo };

const refused = (code: ErrorInfo["code"], message: string): Started => ({ type: "refused", error: { code, message } });

export async function startRun(deps: EngineDeps, asked: StartRequest): Promise<Started> {
  const input = inputFor(deps, asked);
  if (!input.ok) return { type: "refused", error: input.error };
  const request = { ...asked, input: input.value };
  const wrong = await startProblem(deps, request);
  // A repeated request gets the run of then, whatever today's code would say to it.
  if (wrong !== null) return (await runOfThen(deps, request)) ?? { type: "refused", error: wrong };
  const deployed = deps.agents.get(request.agent);
  if (deployed === null) throw new Error("checked above");
  const files = request.files ?? [];
  const { agent, process = "main", traceparent: parent } = request;
  const runId = deps.uuid();
  const run: NewRun = {
    agent,
    runId,
    process,
    mode: deployed.agent.processes.get(process)?.kind === "session" ? "session" : "task",
    input: request.input,
    generation: deployed.generation,
    codeHash: deployed.agent.codeHash,
    idempotencyKey: request.idempotencyKey ?? null,
    files,
    budget: lower(request.budget ?? NO_BUDGET, deployed.agent.limits),
    attributes: request.attributes ?? {},
    ...(request.startedBy === undefined ? {} : { startedBy: request.startedBy }),
  };
  const hint = { agent, runId, taskId: null };
  const started = await traceStart(
    { agent, runId, process, parent },
    async (traceContext): Promise<Started> => {
      const created = await deps.store.runs.create({ ...run, ...(traceContext === undefined ? {} : { traceContext }) });
      if (!created.same) return conflict(request);
      if (created.type === "existing") return { type: "existing", runId: created.runId };
      await nudge(deps, [hint]);
      deps.log.info("run started", { agent, runId });
      return { type: "started", runId };
    },
    ({ type }) => type === "started",
  );
  if (started.type === "existing") await nudge(deps, [{ ...hint, runId: started.runId }]); // perhaps its hint was lost
  return started;
}

/** As it is recorded, which is what the workflow gets and a repeated request is compared with. Of an agent that isn't served: as it came, and refused. */
export function inputFor(
  { agents }: Pick<EngineDeps, "agents">,
  { agent, process = "main", input }: Pick<StartRequest, "agent" | "process" | "input">,
): Redacted {
  const deployed = agents.get(agent);
  if (deployed === null) return { ok: true, value: input };
  return redacted(deployed.agent, input, { kind: "input", name: process });
}

const conflict = ({ idempotencyKey }: StartRequest): Started =>
  refused("idempotency.conflict", `Idempotency-Key ${idempotencyKey} was used for another request; use a new key.`);

async function runOfThen(deps: EngineDeps, request: StartRequest): Promise<Started | null> {
  const { agent, input, idempotencyKey, process = "main", files = [], attributes = {} } = request;
  if (idempotencyKey === undefined || deps.agents.get(agent) === null) return null;
  const found = await deps.store.runs.existing({ agent, process, input, files, attributes }, idempotencyKey);
  if (found === null) return null;
  return found.same ? { type: "existing", runId: found.runId } : conflict(request);
}

const problem = (code: ErrorInfo["code"], message: string): ErrorInfo => ({ code, message });

/** Why such a run couldn't start; null: nothing that could be known before. */
export async function startProblem(
  deps: Pick<EngineDeps, "agents" | "files">,
  request: Pick<StartRequest, "agent" | "process" | "input" | "files">,
): Promise<ErrorInfo | null> {
  const deployed = deps.agents.get(request.agent);
  if (deployed === null)
    return problem(
      "agent.unknown",
      `There is no agent "${request.agent}". ${closest(request.agent, deps.agents.names())}`,
    );
  const name = request.process ?? "main";
  const process = deployed.agent.processes.get(name);
  if (process === undefined)
    return problem(
      "process.unknown",
      `Agent "${request.agent}" has no process "${name}". ${closest(name, [...deployed.agent.processes.keys()])}`,
    );
  const bytes = jsonBytes(request.input);
  if (bytes > PAYLOAD_MAX_BYTES)
    return problem("payload.too_large", `The input of ${bytes} bytes is over the limit of ${PAYLOAD_MAX_BYTES} bytes.`);
  if (process.kind === "workflow") {
    const parsed = process.parseInput(request.input);
    if (!parsed.ok) return problem("workflow.bad_input", `The input doesn't fit process "${name}": ${parsed.message}`);
  }
  const ids = request.files ?? [];
  const found = new Set((await deps.files.list(ids)).map((f) => f.id));
  const missing = ids.filter((id) => !found.has(id));
  return missing.length === 0
    ? null
    : problem("file.unknown", `No file has the id ${missing.join(", ")}: POST /files gives ids.`);
}
