// The planning statement as its query file describes it: the run's append, waves, specs, task streams and claims, all or nothing.

import type { JsonObject } from "../../shared/core/json.ts";
import { GRACE_MS } from "../../shared/core/limits.ts";
import { NOTHING } from "../../shared/core/task/ledger.ts";
import type { Plan, PlannedChild, Wait } from "../../shared/ports/store.ts";
import { inOrder, insertEvents, post } from "./append.ts";
import { type Run, type RunRecord, runKey, type Stream, type Transaction, UniqueViolation } from "./database.ts";
import { stored } from "./stored.ts";

/** Waits of a run's own stream that its cached status names. */
const STATED: ReadonlySet<Wait> = new Set(["cut", "timer", "retry", "signal"]);

/** Null: head or epoch was not as expected. */
export async function planStatement(
  tx: Transaction,
  plan: Plan,
  clockOffMs: number,
): Promise<{ readonly inboxSeq: number; readonly complete: readonly number[] } | null> {
  const { runId } = plan.lease.stream;
  const claimed = plan.waves.flatMap((w) => w.claimed.map((taskId) => ({ wave: w.wave, streamId: `task:${taskId}` })));
  const wanted = ["run", ...new Set(claimed.map((c) => c.streamId))].map((streamId) => ({ runId, streamId }));
  await tx.lock(
    inOrder(
      tx,
      wanted.filter((t) => tx.sees(tx.db.stream(t.runId, t.streamId))),
    ),
  );
  const run = tx.db.run(runId);
  const own = run?.streams.get("run");
  if (run === undefined || own === undefined || own.headSeq !== plan.head) return null;
  if (!tx.db.plants.noEpoch && (own.leaseEpoch !== plan.lease.epoch || own.leaseOwner === null)) return null;

  const now = tx.clock();
  const leaseUntil = now + plan.lease.leaseMs + (tx.db.plants.workerClock ? clockOffMs : 0);
  const calm = plan.events.some((e) => e.type.endsWith("Completed")) ? { attempts: 0, soloAttempts: 0 } : {};
  const next = { ...own, headSeq: own.headSeq + plan.events.length, leaseUntil, wait: null, problem: null, ...calm };
  tx.update(next);
  insertEvents(tx, own, plan.events);
  for (const { wave, streamId } of claimed) claim(tx, run, wave, streamId, now);
  for (const child of plan.children ?? []) await startChild(tx, run, child);
  for (const wave of plan.waves) for (const task of wave.fresh) born(tx, run, wave.wave, task, now);
  const complete = plan.waves.flatMap((wave) => addWave(tx, run, wave));
  if (own.wait !== null && STATED.has(own.wait)) {
    await tx.lock([runKey(runId)]);
    const cuts = own.wait === "cut" ? 1 : 0;
    tx.write(() => {
      run.record = { ...run.record, waitingCut: run.record.waitingCut - cuts, phase: "running" };
    });
  }
  return { inboxSeq: next.inboxSeq, complete: complete.sort((a, b) => a - b) };
}

function claim(tx: Transaction, run: Run, wave: number, streamId: string, now: number): void {
  const row = run.streams.get(streamId);
  if (row?.status === "ended") tx.update({ ...row, wave });
  if (row === undefined || row.status === "ended") return;
  const key = `claim:${wave}`;
  if (run.inbox.get(streamId)?.some((i) => i.key === key)) throw new UniqueViolation(`${streamId} ${key}`);
  const woken = row.status === "parked" ? { status: "ready" as const, wakeAt: now + GRACE_MS } : {};
  tx.update({ ...row, wave, inboxSeq: row.inboxSeq + 1, ...woken });
  post(tx, row, row.inboxSeq + 1, key, { kind: "claim", wave });
}

function born(
  tx: Transaction,
  run: Run,
  wave: number,
  task: Plan["waves"][number]["fresh"][number],
  now: number,
): void {
  const { taskId, role, input, digest } = task;
  if (run.specs.has(taskId)) throw new UniqueViolation(taskId);
  const streamId = `task:${taskId}`;
  const { generation } = run.streams.get("run") as Stream;
  tx.write((commit) => {
    run.specs.set(taskId, { taskId, role, input: stored(input), digest, born: commit });
    run.streams.set(streamId, { ...newStream(run.record.runId, streamId, now, generation), role, wave, born: commit });
  });
}

/** A run below this one, with its first event: in the statement that records its start. */
async function startChild(tx: Transaction, parent: Run, child: PlannedChild): Promise<void> {
  const { runId, process, input, mode, depth } = child;
  if (tx.db.run(runId) !== undefined) throw new UniqueViolation(runId);
  const { record } = parent;
  const { generation } = parent.streams.get("run") as Stream;
  const { agent, files, traceContext, attributes } = record;
  const own = { runId, agent, process, mode, input: stored(input), generation, idempotencyKey: null, request: "child" };
  const inherited = {
    files,
    traceContext,
    attributes,
    budget: null,
    parent: record.runId,
    root: record.root ?? record.runId,
  };
  const created = stored({ process, input, parent: { run: record.runId, depth } });
  insertRun(tx, { ...own, ...inherited, createdAt: tx.clock() }, created);
}

type NewRecord = Omit<
  RunRecord,
  "born" | "output" | "error" | "ended" | "waitingCut" | "waitingApproval" | "waitingInput" | "phase" | "endedAt"
>;

export function insertRun(tx: Transaction, own: NewRecord, payload: JsonObject): void {
  const { runId, generation } = own;
  const now = tx.clock();
  tx.write((born) => {
    const waiting = { waitingCut: 0, waitingApproval: 0, waitingInput: 0 };
    const state = { output: null, error: null, ended: null, ...waiting, phase: "created" as const, endedAt: null };
    tx.db.runs.set(runId, {
      record: { ...own, ...state, born },
      streams: new Map([["run", { ...newStream(runId, "run", now, generation), headSeq: 1, born }]]),
      events: new Map([["run", [{ seq: 1, type: "RunCreated", payload, recordedAt: now, born }]]]),
      inbox: new Map(),
      waves: new Map(),
      specs: new Map(),
      snapshots: new Map(),
    });
  });
}

const newStream = (runId: string, streamId: string, now: number, generation: number): Omit<Stream, "born"> => ({
  runId,
  streamId,
  headSeq: 0,
  inboxSeq: 0,
  sealedSeq: 0,
  sealedFacts: 0,
  status: "ready",
  outcome: null,
  wait: null,
  absorbed: 0,
  wakeAt: now + GRACE_MS,
  leaseOwner: null,
  leaseEpoch: 0,
  leaseUntil: null,
  attempts: 0,
  soloAttempts: 0,
  generation,
  problem: null,
  role: null,
  wave: null,
  hold: NOTHING,
});

/** The wave's row, counted from the locked rows; its number if it is decided already: no bell will come for it. */
function addWave(tx: Transaction, run: Run, wave: Plan["waves"][number]): number[] {
  if (run.waves.has(wave.wave)) throw new UniqueViolation(`wave ${wave.wave}`);
  const rows = wave.claimed.flatMap((taskId) => run.streams.get(`task:${taskId}`) ?? []);
  const unsettled = wave.fresh.length + rows.filter((r) => r.status !== "ended").length;
  const broke = wave.onTaskFailure === "fail" && rows.some((r) => r.status === "ended" && r.outcome !== "completed");
  const signalled = unsettled === 0 || broke;
  tx.write((commit) => {
    const { wave: number, maxParallel, onTaskFailure: onFailure } = wave;
    run.waves.set(number, { wave: number, onFailure, maxParallel, unsettled, signalled, born: commit });
  });
  return signalled ? [wave.wave] : [];
}
