// Runs: created once, then read by people.

import type { Pool } from "pg";
import { nanoUsd } from "../../core/cost.ts";
import { digestOf } from "../../core/digest.ts";
import { TorenError } from "../../core/errors.ts";
import type { RawEvent } from "../../core/events.ts";
import { fromStored, type Json } from "../../core/json.ts";
import { GRACE_MS, READ_PAGE_ROWS } from "../../core/limits.ts";
import { budgetOf } from "../../core/task/ledger.ts";
import { NO_ATTRIBUTES, termsOf } from "../../core/terms.ts";
import type { NewRun, RunBudget, RunRow, RunStore, StreamRow, Wait } from "../../ports/store.ts";
import { codeOf } from "../database/failures.ts";
import { restoreAll, writeBlobs } from "./blobs.ts";
import { createList, type OutlineRow, outline } from "./list-runs.ts";
import { openAndRead } from "./seals.ts";
import { explained, repeatable, type Statements, wasDoubtful } from "./statements.ts";
import { storedContent, storedEvent } from "./values.ts";

const UNIQUE_VIOLATION = "23505";

interface Row extends OutlineRow {
  readonly input: Json;
  readonly output: Json | null;
  readonly capped: boolean;
  readonly cap_tokens: number | null;
  readonly cap_nano: number | null;
  readonly retries: number;
  readonly forked_from: string | null;
  readonly facts: number;
  readonly reserved_tokens: number;
  readonly reserved_nano: number;
  readonly spent_tokens: number;
  readonly spent_nano: number;
}

export function createRuns(pool: Pool, statements: Statements): RunStore {
  return {
    create: (run) => create(pool, statements, run),
    existing: async (request, idempotencyKey) => {
      const found = await foundRun(statements, request.agent, null, idempotencyKey);
      return found && { runId: found.run_id, same: found.request_digest === requestDigest(request) };
    },
    get: async (agent, runId) => {
      const [row] = await statements.ask<Row>("read-run", agent, [runId]);
      return row === undefined ? null : await runRow(statements, agent, row);
    },
    agentOf: async (runId) => (await statements.ask<{ agent: string }>("find-agent", null, [runId]))[0]?.agent ?? null,
    list: createList(statements),
    streams: async (agent, runId) => (await statements.ask<StreamsRow>("list-streams", agent, [runId])).map(streamRow),
    callEvents: (agent, runId) => callEvents(statements, agent, runId),
    files: async (agent, runId) =>
      (await statements.ask<{ file_id: string }>("list-run-files", agent, [runId])).map((row) => row.file_id),
  };
}

/** A second run under a key, and a repetition after a lost acknowledgement, both meet the first one's row. */
async function create(pool: Pool, statements: Statements, run: NewRun): ReturnType<RunStore["create"]> {
  const { agent, runId, process, idempotencyKey, attributes = NO_ATTRIBUTES } = run;
  const request = requestDigest(run);
  const key = await statements.seals.sealer.fresh(runId);
  const input = storedContent("The run's input", run.input, "input", key);
  const event = storedEvent({ type: "RunCreated", payload: { process, input: run.input } }, key);
  await writeBlobs(statements, agent, runId, [...input.blobs, ...event.blobs]);
  const rest = [
    run.generation,
    run.codeHash,
    idempotencyKey,
    request,
    event.text,
    run.files,
    agent,
    GRACE_MS,
    run.mode ?? "task",
    run.budget?.totalTokens ?? null,
    run.budget?.maxCostUsd == null ? null : nanoUsd(run.budget.maxCostUsd),
    run.traceContext ?? null,
    Object.keys(attributes).length === 0 ? null : attributes,
    termsOf(key === null ? run.input : null, attributes), // words in clear would say what is sealed
    run.startedBy?.by ?? null,
    run.startedBy?.keyId ?? null,
    key?.wrapped ?? null,
  ];
  let doubtful: boolean;
  try {
    await repeatable(pool, "create-run", agent, [runId, process, input.text, ...rest], true);
    return { type: "created", runId, same: true };
  } catch (e) {
    if (codeOf(e) !== UNIQUE_VIOLATION) throw explained(e);
    doubtful = wasDoubtful(e);
  }
  const found = await foundRun(statements, agent, runId, idempotencyKey);
  if (found === null) throw new TorenError("bug", `The run ${runId} belongs to another agent.`);
  const mine = doubtful && found.run_id === runId;
  return { type: mine ? "created" : "existing", runId: found.run_id, same: found.request_digest === request };
}

/** What makes two requests the same. */
const requestDigest = ({ process, input, files, attributes = NO_ATTRIBUTES }: Requested): string =>
  digestOf({ process, input, files, ...(Object.keys(attributes).length === 0 ? {} : { attributes }) });
type Requested = Pick<NewRun, "process" | "input" | "files" | "attributes">;

export async function foundRun(
  statements: Statements,
  agent: string,
  runId: string | null,
  idempotencyKey: string | null,
): Promise<{ readonly run_id: string; readonly request_digest: string } | null> {
  const rows = await statements.ask<{ run_id: string; request_digest: string }>("find-run", agent, [
    runId,
    idempotencyKey,
  ]);
  return rows[0] ?? null;
}

async function runRow(statements: Statements, agent: string, row: Row): Promise<RunRow> {
  const values = [
    { runId: row.run_id, value: row.input, place: "input" },
    { runId: row.run_id, value: row.output, place: "output" },
  ];
  const [rest, [input, output]] = await Promise.all([
    outline(statements, agent, row),
    restoreAll(statements, agent, values),
  ]);
  const budget = row.capped ? runBudget(row) : null;
  return {
    ...rest,
    input: input ?? null,
    output: output ?? null,
    budget,
    retries: row.retries,
    forkedFrom: row.forked_from,
    facts: row.facts,
  };
}

const runBudget = (row: Row): RunBudget => ({
  ...budgetOf(row.cap_tokens, row.cap_nano),
  spent: { tokens: row.spent_tokens, nanoUsd: row.spent_nano },
  reserved: { tokens: row.reserved_tokens, nanoUsd: row.reserved_nano },
});

interface StreamsRow {
  readonly stream_id: string;
  readonly status: StreamRow["status"];
  readonly outcome: StreamRow["outcome"];
  readonly wait: Wait | null;
  readonly wake_at: number | null;
  readonly attempts: number;
  readonly role: string | null;
  readonly wave: number | null;
  readonly head_seq: number;
  readonly sealed_seq: number;
  readonly copied_seq: number;
  readonly problem: Json | null;
}

const streamRow = (row: StreamsRow): StreamRow => ({
  streamId: row.stream_id,
  status: row.status,
  outcome: row.outcome,
  wait: row.wait,
  wakeAt: row.wake_at,
  attempts: row.attempts,
  role: row.role,
  wave: row.wave,
  headSeq: row.head_seq,
  sealedSeq: row.sealed_seq,
  copiedSeq: row.copied_seq,
  problem: row.problem === null ? null : (fromStored(row.problem) as unknown as StreamRow["problem"]),
});

async function callEvents(statements: Statements, agent: string, runId: string): ReturnType<RunStore["callEvents"]> {
  interface EventRow {
    readonly stream_id: string;
    readonly seq: number;
    readonly type: string;
    readonly payload: Json;
    readonly recorded_at: number;
  }
  const events: { streamId: string; event: RawEvent }[] = [];
  for (let stream = "", seq = 0; ; ) {
    const rows = await statements.ask<EventRow>("list-call-events", agent, [runId, stream, seq, READ_PAGE_ROWS]);
    const sealedRows = rows.map((row) => ({ runId, value: row.payload }));
    const payloads = await openAndRead(statements.seals, agent, sealedRows);
    for (const [i, row] of rows.entries()) {
      const payload = payloads[i] as RawEvent["payload"];
      events.push({
        streamId: row.stream_id,
        event: { seq: row.seq, type: row.type, payload, recordedAt: row.recorded_at },
      });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < READ_PAGE_ROWS) return events;
    stream = last.stream_id;
    seq = last.seq;
  }
}
