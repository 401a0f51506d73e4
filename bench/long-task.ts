// A task whose log is as long as wanted: made by the core's own fold, as the engine would have written it, and put into the tables at once. A resume checks
// every digest of it, so a log that the engine wouldn't have written is cut, and the figure fails.
import { randomUUID } from "node:crypto";
import type { TaskEvent } from "../shared/core/events.ts";
import type { Json } from "../shared/core/json.ts";
import { headerOf } from "../shared/core/task/header.ts";
import { normalise } from "../shared/core/task/history.ts";
import { NO_BUDGET } from "../shared/core/task/ledger.ts";
import { type Caps, nextAction } from "../shared/core/task/loop.ts";
import { apply, idempotencyKey } from "../shared/core/task/state.ts";
import { initialState } from "../shared/core/task/task-state.ts";
import type { Circumstances } from "../shared/engine/deps.ts";
import { runTask } from "../shared/engine/run-task.ts";
import type { Database } from "../shared/ports/database.ts";
import type { StreamRef } from "../shared/ports/store.ts";
import { answer, type Gate, gate, job, ROLE, worker } from "./agents.ts";
import { AGENT } from "./ground.ts";
import { createEngine, type Engine } from "./stack.ts";

/** More steps than any figure takes: the task never ends by itself. */
const ENDLESS = 1_000_000;
const TASK = "w0t0";
const caps: Caps = {
  maxSteps: worker.maxSteps,
  budget: NO_BUDGET,
  runBudget: NO_BUDGET,
  rates: null,
  contextWindow: null,
};

/** A task, and an engine that works on nothing else. */
export interface LongTask {
  readonly stream: StreamRef;
  /** Takes the task up, from its log to the next call of its model. Resolves then, to the milliseconds it took, on the clock and of this process' CPU. */
  resume(): Promise<{ readonly ms: number; readonly cpuMs: number }>;
  /** One live step: from the model's answer to the next question. Milliseconds. */
  step(): Promise<number>;
  /** Lets go at the next step's end, so that it can be taken up again. */
  release(): Promise<void>;
  /** Steps on record. */
  readonly steps: number;
  close(): Promise<void>;
}

export async function createLongTask(database: Database, steps: number): Promise<LongTask> {
  const model: Gate = gate();
  const own = createEngine(database, [AGENT], model);
  // Nobody else shall take it up when it is released.
  const engine: Engine = { ...own, deps: { ...own.deps, queue: { ...own.deps.queue, send: async () => {} } } };
  const stream = await plan(engine);
  if (steps > 0) await write(database, stream, logOf(stream.runId, steps));
  let recorded = steps;
  let stopping = false;
  let working: Promise<unknown> = Promise.resolve();
  const at: Circumstances = {
    solo: false,
    remainingMs: () => (stopping ? 0 : Number.POSITIVE_INFINITY),
    stop: new AbortController().signal,
  };
  const { agent, runId } = stream;
  /** A task that ends, or loses its lease, would never ask its model again. */
  const asked = () =>
    Promise.race([
      model.arrival(),
      working.then((worked) => {
        throw new Error(`the long task stopped: ${worked}`);
      }),
    ]);
  return {
    stream,
    get steps() {
      return recorded;
    },
    resume: async () => {
      stopping = false;
      const start = performance.now();
      const cpu = process.cpuUsage();
      working = runTask(engine.deps, { agent, runId, taskId: TASK }, at);
      await asked();
      const { user, system } = process.cpuUsage(cpu);
      return { ms: performance.now() - start, cpuMs: (user + system) / 1_000 };
    },
    step: async () => {
      const start = performance.now();
      model.open();
      await asked();
      recorded++;
      return performance.now() - start;
    },
    release: async () => {
      stopping = true;
      model.open();
      await working;
      recorded++;
    },
    close: async () => {
      await forget(database, stream);
      await engine.close();
    },
  };
}

/** A run with one task, planned as its tick would. */
async function plan({ deps }: Engine): Promise<StreamRef> {
  const runId = randomUUID();
  const run = { agent: AGENT, runId, streamId: "run" };
  const input = job(ENDLESS);
  const { runs, streams } = deps.store;
  await runs.create({
    agent: AGENT,
    runId,
    process: "main",
    input,
    generation: 1,
    codeHash: "bench",
    idempotencyKey: null,
    files: [],
  });
  const acquired = await streams.acquire(run, { owner: randomUUID(), generation: 1, leaseMs: 30_000, solo: false });
  if (acquired.type !== "acquired") throw new Error(`the run is ${acquired.type}`);
  const { lease } = acquired;
  const planned = {
    type: "WavePlanned",
    payload: { after: 0, digest: "d1:bench", name: ROLE, wave: 0, tasks: [TASK], onTaskFailure: "fail" },
  };
  const fresh = [{ taskId: TASK, role: ROLE, input, digest: "d1:bench" }];
  await streams.plan({
    lease,
    head: lease.head,
    events: [planned],
    waves: [{ wave: 0, onTaskFailure: "fail", maxParallel: null, fresh, claimed: [] }],
  });
  await streams.append({
    lease,
    head: lease.head + 1,
    events: [],
    next: { type: "park", absorbed: 0, wait: "wave", wakeAt: null },
    progress: false,
  });
  return { agent: AGENT, runId, streamId: `task:${TASK}` };
}

/** What the engine records in so many steps. */
function logOf(runId: string, steps: number): TaskEvent[] {
  const header = headerOf(worker);
  const state = initialState(header, null, job(ENDLESS));
  const log: TaskEvent[] = [];
  const record = (event: TaskEvent): void => {
    log.push(event);
    apply(state, event, 0);
  };
  record({ type: "TaskStarted", attempt: 1, specDigest: header.digest, parts: { ...header.parts } });
  while (state.steps < steps) {
    const asks = nextAction(state, caps);
    if (asks.type !== "ask") throw new Error(`the bench's task wants to ${asks.type}`);
    const { stepId } = asks;
    record({ type: "LlmCallStarted", stepId, requestDigest: asks.digest, model: worker.model, purpose: "step" });
    const { usage, ...response } = normalise(answer(asks.request), state.usedIds);
    record({ type: "LlmCallCompleted", stepId, response, usage });
    const calls = nextAction(state, caps);
    if (calls.type !== "tools") throw new Error(`the bench's task wants to ${calls.type}`);
    for (const { use } of calls.calls) {
      const tool = worker.tools[0];
      if (tool === undefined) throw new Error("the bench's role has a tool");
      const { effects, idempotency } = tool;
      const key = idempotencyKey(runId, TASK, state, use.name, use.args);
      record({
        type: "ToolCallStarted",
        stepId,
        toolUseId: use.id,
        tool: use.name,
        args: use.args,
        idempotencyKey: key,
        effects,
        idempotency,
      });
      record({
        type: "ToolCallCompleted",
        stepId,
        toolUseId: use.id,
        result: tool.handler(use.args, NOBODY) as Json,
        isError: false,
      });
    }
  }
  return log;
}
/** The bench's tool knows nothing of the world. */
const NOBODY = {} as never;

async function write({ pool }: Database, stream: StreamRef, log: readonly TaskEvent[]): Promise<void> {
  const payloads = log.map(({ type: _, ...payload }) => JSON.stringify(payload));
  await pool.query(
    `INSERT INTO agent_${stream.agent}.events (run_id, stream_id, seq, type, payload)
     SELECT $1::uuid, $2::text, e.seq, e.type, e.payload FROM unnest($3::text[], $4::jsonb[]) WITH ORDINALITY AS e(type, payload, seq)`,
    [stream.runId, stream.streamId, log.map((e) => e.type), payloads],
  );
  await pool.query(`UPDATE agent_${stream.agent}.streams SET head_seq = $3 WHERE run_id = $1 AND stream_id = $2`, [
    stream.runId,
    stream.streamId,
    log.length,
  ]);
}

/** The task has no end of its own, and an audit would find it if it were parked. */
const forget = ({ pool }: Database, { agent, runId }: StreamRef): Promise<unknown> =>
  pool.query(
    `UPDATE agent_${agent}.streams SET status = 'ended', outcome = 'completed', wait = NULL, wake_at = NULL, lease_owner = NULL WHERE run_id = $1`,
    [runId],
  );

/** Bytes that the rows of the last steps take in the events table, per step. */
export async function bytesPerStep({ pool }: Database, task: LongTask, steps: number): Promise<number> {
  const { rows } = await pool.query<{ bytes: number }>(
    `SELECT sum(pg_column_size(e.*))::float8 AS bytes FROM agent_${task.stream.agent}.events e
     WHERE run_id = $1 AND stream_id = $2 AND payload->>'stepId' = ANY ($3::text[])`,
    [task.stream.runId, task.stream.streamId, Array.from({ length: steps }, (_, i) => `s${task.steps - 1 - i}`)],
  );
  return (rows[0]?.bytes ?? Number.NaN) / steps;
}
