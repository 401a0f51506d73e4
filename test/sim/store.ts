// Over 300 lines: one twin of one port. The store for the simulation: in memory, with the statements' semantics, and as fickle as a network makes it.
import { NANO_PER_USD, priceOf } from "../../shared/core/cost.ts";
import { digestOf } from "../../shared/core/digest.ts";
import { TorenError } from "../../shared/core/errors.ts";
import type { TaskOutcome } from "../../shared/core/events.ts";
import type { Json } from "../../shared/core/json.ts";
import { totalTokens, type Usage } from "../../shared/core/messages.ts";
import { isCapped, NO_BUDGET, NOTHING } from "../../shared/core/task/ledger.ts";
import { termsOf, wordsOf } from "../../shared/core/terms.ts";
import type {
  NewRun,
  RunFilter,
  RunOutline,
  RunRow,
  RunStore,
  Spent,
  Store,
  StreamRow,
  TaskStore,
  TraceStore,
} from "../../shared/ports/store.ts";
import { effectiveEvents } from "../support/log-checker-task.ts";
import { refuseTooLarge } from "./append.ts";
import { createSimChildren, treeOf } from "./children.ts";
import { ask, type Connection, repeatable } from "./connection.ts";
import { type Run, type RunRecord, type Stream, statusOf, type Transaction, UniqueViolation } from "./database.ts";
import { approvals, turns } from "./people-store.ts";
import { insertRun } from "./plan.ts";
import { stored } from "./stored.ts";
import { createSimStreams } from "./streams.ts";
import { createWatch } from "./watch.ts";

export const createSimStore = (connection: Connection): Store => ({
  streams: createSimStreams(connection),
  tasks: createTasks(connection),
  runs: createRuns(connection),
  children: createSimChildren(connection),
  watch: createWatch(connection),
  traces: createTraces(connection),
  exports: { rows: async () => [] },
  erasure: { erase: async () => [] },
  forks: { fork: async () => Promise.reject(NOBODY_RETRIES), externalCalls: async () => [] },
  retries: { retry: async () => Promise.reject(NOBODY_RETRIES), reopen: async () => Promise.reject(NOBODY_RETRIES) },
});

/** What retries do is held by test/engine/retry.test.ts and the kill matrix. */
const NOBODY_RETRIES = new Error("nobody in the simulation retries a run, or forks one");

const TASK = "task:";
const tasksOf = (tx: Transaction, runId: string): Stream[] =>
  [...(tx.db.run(runId)?.streams.values() ?? [])].filter((s) => s.streamId !== "run").sort(byId);
const byId = (a: Stream, b: Stream): number => (a.streamId < b.streamId ? -1 : 1);

function createTasks(connection: Connection): TaskStore {
  return {
    approvals: (_, runId) => ask(connection, "approvals", (tx) => approvals(tx, runId)),
    turns: (_, runId, page) => ask(connection, "turns", (tx) => turns(tx, runId, page)),
    snapshot: ({ runId, streamId }) =>
      ask(connection, `snapshot ${streamId}`, (tx) => {
        const kept = tx.db.run(runId)?.snapshots.get(streamId);
        return kept === undefined ? null : stored(kept);
      }),
    keepSnapshot: ({ runId, streamId }, snapshot) =>
      ask(connection, `keep snapshot ${streamId}`, (tx) => {
        const snapshots = tx.db.run(runId)?.snapshots;
        if ((snapshots?.get(streamId)?.seq ?? 0) >= snapshot.seq) return;
        tx.write(() => void snapshots?.set(streamId, stored(snapshot)));
      }),
    keepHeader: async (agent, { digest, ...header }) => {
      refuseTooLarge("What the task's requests begin with", header);
      const key = `${agent} ${digest}`;
      await ask(connection, "header", (tx) => {
        if (!tx.db.headers.has(key)) tx.write(() => tx.db.headers.set(key, stored(header as unknown as Json)));
      });
    },
    spec: ({ runId, streamId }) =>
      ask(connection, `spec ${streamId}`, (tx) => {
        const spec = tx.db.run(runId)?.specs.get(streamId.slice(TASK.length));
        if (spec === undefined) return null;
        const { taskId, role, input, digest } = spec;
        const number = tx.db.stream(runId, streamId)?.wave ?? null;
        const maxParallel = number === null ? null : (tx.db.run(runId)?.waves.get(number)?.maxParallel ?? null);
        return {
          wave: number === null ? null : { number, maxParallel },
          taskId,
          role,
          session: tx.db.run(runId)?.record.mode === "session" && taskId === "w0t0",
          input: stored(input),
          digest,
          budget: tx.db.rootOf(runId)?.record.budget ?? NO_BUDGET,
        };
      }),
    digests: (_, runId) =>
      ask(connection, "digests", (tx) => {
        const run = tx.db.run(runId);
        const stopped = ({ taskId }: { taskId: string }): boolean =>
          run?.inbox.get(TASK + taskId)?.some((i) => (i.payload as { kind?: string }).kind === "cancel") ?? false;
        const claimable = [...(run?.specs.values() ?? [])].filter((spec) => !stopped(spec));
        return claimable.map(({ taskId, digest }) => ({ taskId, digest }));
      }),
    outcomes: (_, runId, taskIds) =>
      ask(connection, "outcomes", (tx) =>
        taskIds.flatMap((taskId) => {
          const row = tx.db.stream(runId, TASK + taskId);
          const last = tx.db
            .run(runId)
            ?.events.get(TASK + taskId)
            ?.at(-1);
          return row?.status === "ended" && last !== undefined ? [{ taskId, outcome: outcomeOf(last.payload) }] : [];
        }),
      ),
    unrepeatable: (_, runId, taskIds) =>
      ask(connection, "unrepeatable", (tx) => [...taskIds].sort().flatMap((id) => unrepeatable(tx, runId, id))),
    price: (_, runId, taskIds, children) =>
      ask(connection, "price", (tx) => {
        const own = taskIds.map((id) => tx.db.run(runId)?.events.get(TASK + id) ?? []);
        const below = treeOf(tx, children).flatMap((run) =>
          [...run.events].flatMap(([id, log]) => (id === "run" ? [] : [log])),
        );
        return priceOf(
          [...own, ...below].flatMap((log) => {
            const answers = effectiveEvents(log).filter((e) => e.type === "LlmCallCompleted");
            return answers.map((e) => e.payload.cost as { usd: number; simulated: boolean } | undefined);
          }),
        );
      }),
    open: (_, runId) =>
      ask(connection, "open", (tx) =>
        tasksOf(tx, runId)
          .filter((s) => s.status !== "ended")
          .map((s) => ({ taskId: s.streamId.slice(TASK.length), wait: s.wait })),
      ),
  };
}

function outcomeOf(payload: Readonly<Record<string, unknown>>): TaskOutcome {
  const { result, error } = stored(payload) as {
    result?: Json;
    error?: Extract<TaskOutcome, { status: "failed" }>["error"];
  };
  return error === undefined ? { status: "completed", output: result ?? null } : { status: "failed", error };
}

export function unrepeatable(tx: Transaction, runId: string, taskId: string): { taskId: string; tool: string }[] {
  const log = tx.db.run(runId)?.events.get(TASK + taskId) ?? [];
  const calls = log.filter(
    (e) => e.type === "ToolCallStarted" && e.payload.effects === "external" && e.payload.idempotency === "none",
  );
  const done = calls.filter(({ seq, payload: { stepId, toolUseId } }) =>
    log.some(
      (e) =>
        e.type === "ToolCallCompleted" &&
        e.seq > seq &&
        e.payload.stepId === stepId &&
        e.payload.toolUseId === toolUseId,
    ),
  );
  return [...new Set(done.map((e) => String(e.payload.tool)))].sort().map((tool) => ({ taskId, tool }));
}

const CALLS = new Set(
  "TaskStarted LlmCallStarted LlmCallCompleted LlmCallFailed ToolCallStarted ToolCallCompleted StreamInvalidated CutRequested InputRequested TaskCompleted TaskFailed TaskCancelled".split(
    " ",
  ),
);

const createTraces = (connection: Connection): TraceStore => ({
  of: ({ runId, streamId }) =>
    ask(connection, `trace ${streamId}`, (tx) => {
      const [record, stream] = [tx.db.run(runId)?.record, tx.db.stream(runId, streamId)];
      if (record === undefined || stream === undefined) return null;
      const { status, leaseOwner, leaseUntil, role } = stream;
      const atRest = status === "ended" || (leaseOwner !== null && (leaseUntil ?? 0) >= tx.clock());
      return { traceContext: record.traceContext, role, atRest };
    }),
});

function createRuns(connection: Connection): RunStore {
  return {
    create: (run) => create(connection, run),
    existing: async (request, idempotencyKey) => {
      const found = await ask(connection, "find run", (tx) =>
        [...tx.db.runs.values()]
          .map((r) => r.record)
          .find((r) => r.agent === request.agent && r.idempotencyKey === idempotencyKey),
      );
      return found === undefined ? null : { runId: found.runId, same: found.request === requestOf(request) };
    },
    get: (_, runId) => ask(connection, "run", (tx) => rowOf(tx.db.run(runId), tx.db.rootOf(runId)?.record.budget)),
    agentOf: (runId) => ask(connection, "agent", (tx) => tx.db.run(runId)?.record.agent ?? null),
    list: async (filter) => {
      const { before, limit } = filter;
      if (before !== undefined && !/^\d+\.[0-9a-f-]{36}$/.test(before))
        throw new TorenError("request.invalid", "The cursor isn't one that a page of runs gave.");
      return await ask(connection, "list", (tx) => {
        const wanted = [...tx.db.runs.values()]
          .map((r) => r.record)
          .filter((r) => fits(r, filter))
          .sort(newestFirst);
        const rest = before === undefined ? wanted : wanted.filter((r) => placeOf(r) < before);
        const shown = rest.slice(0, limit);
        const last = shown.at(-1);
        const next = rest.length > limit && last !== undefined ? placeOf(last) : null;
        return { runs: shown.map((r) => ({ ...outlineOf(r), spent: spentOf(tx, r.runId) })), next };
      });
    },
    streams: (_, runId) =>
      ask(connection, "streams", (tx) => {
        const own = tx.db.stream(runId, "run");
        return [...(own === undefined ? [] : [own]), ...tasksOf(tx, runId)].map(streamRow);
      }),
    callEvents: (_, runId) =>
      ask(connection, "call events", (tx) =>
        [...(tx.db.run(runId)?.events ?? [])]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .flatMap(([streamId, log]) =>
            log
              .filter((e) => CALLS.has(e.type))
              .map(
                ({ seq, type, payload: { response: _r, result: _s, args: _a, text: _t, ...payload }, recordedAt }) => ({
                  streamId,
                  event: { seq, type, payload, recordedAt },
                }),
              ),
          ),
      ),
    files: (_, runId) => ask(connection, "files", (tx) => [...(tx.db.run(runId)?.record.files ?? [])]),
  };
}

/** From the log, where Postgres has counted as it was written. */
export function spentOf(tx: Transaction, runId: string): Spent {
  const all = [...(tx.db.run(runId)?.events.values() ?? [])].flat();
  const events = all.filter(
    (e) => e.type === "LlmCallCompleted" || (e.type === "LlmCallFailed" && "usage" in e.payload),
  );
  const answers = events.map(
    (e) => e.payload as unknown as { usage?: Usage; cost?: { usd: number; simulated: boolean } },
  );
  return {
    modelCalls: all.filter((e) => e.type === "LlmCallCompleted").length,
    tokens: answers.reduce((sum, { usage }) => sum + (usage === undefined ? 0 : totalTokens(usage)), 0),
    nanoUsd: answers.reduce((sum, { cost }) => sum + Math.round((cost?.usd ?? 0) * NANO_PER_USD), 0),
    unpriced: answers.filter(({ cost }) => cost === undefined).length,
    simulated: answers.some(({ cost }) => cost?.simulated),
  };
}

function fits(
  r: RunRecord,
  { agents, statuses, process, since, until, text = "", attributes = {} }: RunFilter,
): boolean {
  const own = termsOf(r.input, r.attributes);
  const words = wordsOf(text);
  const found = words.length > 0 && words.every((word) => own.some((term) => term.startsWith(word)));
  return (
    (agents?.includes(r.agent) ?? true) &&
    (statuses?.includes(statusOf(r)) ?? true) &&
    (process ?? r.process) === r.process &&
    r.createdAt >= (since ?? 0) &&
    r.createdAt < (until ?? Infinity) &&
    (text === "" || found || (text.length >= 4 && r.runId.startsWith(text))) &&
    Object.entries(attributes).every(([key, value]) => r.attributes[key] === value)
  );
}

/** Compared as text, so all of one length. */
const placeOf = (r: RunRecord): string => `${String(r.createdAt).padStart(16, "0")}.${r.runId}`;
const newestFirst = (a: RunRecord, b: RunRecord): number => (placeOf(a) > placeOf(b) ? -1 : 1);

function rowOf(run: Run | undefined, budget: RunRow["budget"] = null): RunRow | null {
  if (run === undefined) return null;
  const { record, streams } = run;
  const { input, output } = record;
  const { inboxSeq, sealedFacts } = streams.get("run") as Stream;
  return {
    ...outlineOf(record),
    retries: 0,
    forkedFrom: null,
    input: stored(input),
    output: output === null ? null : stored(output),
    budget,
    facts: inboxSeq - sealedFacts,
  };
}

function outlineOf(record: RunRecord): RunOutline {
  const { agent, runId, process, mode, error, generation, attributes, createdAt, endedAt, parent } = record;
  const status = statusOf(record);
  return { agent, runId, process, mode, status, error, generation, attributes, createdAt, endedAt, parent };
}

const streamRow = (s: Stream): StreamRow => {
  const { streamId, status, outcome, wait, wakeAt, attempts, role, wave, headSeq, sealedSeq, problem } = s;
  return { streamId, status, outcome, wait, wakeAt, attempts, role, wave, headSeq, sealedSeq, copiedSeq: 0, problem };
};

const requestOf = (request: Pick<NewRun, "process" | "input" | "files" | "attributes">): string =>
  digestOf({
    process: request.process,
    input: request.input,
    files: request.files,
    attributes: request.attributes ?? {},
  });

async function create(connection: Connection, run: NewRun): ReturnType<RunStore["create"]> {
  const { runId, idempotencyKey } = run;
  const request = requestOf(run);
  const made = await repeatable(connection, "create", (tx) => createStatement(tx, run, request));
  if (made.value !== null) return { type: "created", runId, same: true };
  const found = await ask(connection, "find run", (tx) => {
    const records = [...tx.db.runs.values()].map((r) => r.record).filter((r) => r.agent === run.agent);
    const same = idempotencyKey === null ? undefined : records.find((r) => r.idempotencyKey === idempotencyKey);
    return same ?? records.find((r) => r.runId === runId);
  });
  if (found === undefined) throw new TorenError("bug", `The run ${runId} belongs to another agent.`);
  const type = made.doubtful && found.runId === runId ? "created" : "existing";
  return { type, runId: found.runId, same: found.request === request };
}

async function createStatement(tx: Transaction, run: NewRun, request: string): Promise<true> {
  const { runId, agent, process, input, generation, idempotencyKey, files, budget = NO_BUDGET } = run;
  // Two that would insert the same unique key wait for each other.
  await tx.lock([`unique ${runId}`, ...(idempotencyKey === null ? [] : [`unique ${agent} ${idempotencyKey}`])]);
  const taken = [...tx.db.runs.values()].some(
    ({ record: r }) =>
      r.runId === runId || (r.agent === agent && idempotencyKey !== null && r.idempotencyKey === idempotencyKey),
  );
  if (taken) throw new UniqueViolation("run");
  const now = tx.clock();
  insertRun(
    tx,
    {
      runId,
      agent,
      process,
      mode: run.mode ?? "task",
      input: stored(input),
      generation,
      idempotencyKey,
      request,
      files,
      createdAt: now,
      budget: isCapped(budget) ? { ...budget, spent: NOTHING, reserved: NOTHING } : null,
      traceContext: run.traceContext ?? null,
      attributes: run.attributes ?? {},
      parent: null,
      root: null,
    },
    stored({ process, input }),
  );
  return true;
}
