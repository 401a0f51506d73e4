// After a retry: which operations of the run are done again. Only the workflow's code can tell whose failure ended it, so it is run as far as the log carries
// it; when it fails by what failed before the retry, that operation is opened again, and the code is run anew, until it fails by nothing on record.
//
// R1  What failed before the retry is done again at most once a retry: what fails after it ends the run (a new attempt is another retry).
// R2  Waves that weren't over when the run failed go on, with all of their tasks that ended otherwise than completed: those were stopped with the run.
// R3  Children likewise: one that failed goes on from what is on record of it, and finds out in the same way what of it is done again. A child that belongs
//     to the run that this one is a fork of is started anew.
// R4  Completed tasks, children, steps and their answers stay. What a tool did is never undone, nor done again by this.
import type { ErrorCode } from "../core/errors.ts";
import type { Recorded } from "../core/events.ts";
import { CUTS_IN_ONE_ADVANCE_MAX } from "../core/limits.ts";
import { childRunId } from "../core/workflow/child.ts";
import {
  type ChildStarted,
  endsOperation,
  isOperationFact,
  type Operation,
  type WavePlanned,
} from "../core/workflow/fold.ts";
import type { Advance, Culprit } from "../core/workflow/outcome.ts";
import type { NewChild } from "../core/workflow/plan.ts";
import { planned } from "./children.ts";
import { nudge } from "./hints.ts";
import type { TickWork } from "./tick-work.ts";

/** Errors that a recorded answer is: going on after it would come to the same, so its question is asked again. */
const ANSWERS: readonly ErrorCode[] = [
  "model.refused",
  "model.paused_too_often",
  "output_exhausted",
  "compaction_failed",
];

type Wave = Recorded<WavePlanned>;
type Start = Recorded<ChildStarted>;

/** R2, at the first look after a retry. */
export async function reopenPending(work: TickWork, again: () => Promise<Advance>): Promise<void> {
  const { retry, log, over, inherited } = work.history();
  if (retry === null) return;
  const pending = log.filter(
    (e): e is Wave => e.type === "WavePlanned" && e.seq < retry.seq && !over.has(e.seq) && !retry.reopened.has(e.seq),
  );
  const opened = (await Promise.all(pending.map((wave) => failedOf(work, wave)))).filter((o) => o.ids.length > 0);
  const starts = log.filter(
    (e): e is Start => e.type === "ChildStarted" && e.seq < retry.seq && !over.has(e.seq) && !inherited.has(e.run),
  );
  const children = (await startMissing(work, starts, again)).filter((start) => !retry.reopened.has(start.seq));
  if (opened.length + children.length > 0) await reopen(work, opened, children, null);
}

/** The operation by which the workflow fails, if what is on record of it is from before the retry (R1). */
export function toReopen(work: TickWork, culprit: Culprit | null): Recorded<Operation> | null {
  const { retry, log } = work.history();
  if (retry === null || culprit === null || retry.reopened.has(culprit.seq)) return null;
  const end = log.find((e) => isOperationFact(e) && e.op === culprit.seq && endsOperation(e));
  if (end === undefined || end.seq > retry.seq) return null;
  return log.find((e): e is Recorded<Operation> => e.seq === culprit.seq) ?? null;
}

export async function reopenOperation(
  work: TickWork,
  op: Recorded<Operation>,
  timeoutMs: number | undefined,
): Promise<void> {
  if (op.type === "WavePlanned") return await reopen(work, [await failedOf(work, op)], [], timeoutMs ?? null);
  if (op.type === "ChildStarted") {
    const failed = await startMissing(work, [op]);
    return failed.length === 0 ? undefined : await reopen(work, [], failed, null);
  }
  work.record({ type: "OperationReopened", op: op.seq, tasks: [], ...newLimit(work, op, timeoutMs ?? null) });
  await work.writer.flush();
}

interface Opened {
  readonly wave: Wave;
  readonly ids: readonly string[];
}

/** Those of its tasks that have ended otherwise than completed. */
async function failedOf(work: TickWork, wave: Wave): Promise<Opened> {
  const { agent, runId } = work.hint;
  const ended = await work.deps.store.tasks.outcomes(agent, runId, wave.tasks);
  return { wave, ids: ended.filter((e) => e.outcome.status === "failed").map((e) => e.taskId) };
}

/** Starts children that this run, a fork, doesn't have and that its code still asks for. Returns those of the others that have failed. */
async function startMissing(
  work: TickWork,
  starts: readonly Start[],
  again?: () => Promise<Advance>,
): Promise<Start[]> {
  if (starts.length === 0) return [];
  const { agent, runId } = work.hint;
  const { children } = work.deps.store;
  const ids = starts.map((start) => start.run);
  const there = new Set(await children.present(agent, runId, ids));
  const absent = starts.filter((start) => !there.has(start.run));
  const asked = absent.length === 0 || again === undefined ? null : await stillAsked(work, again);
  const missing = asked === null ? absent : absent.filter(({ seq }) => asked.has(seq));
  const fresh = missing.map(({ seq, process, input }): NewChild => {
    const run = childRunId(runId, work.writer.next);
    work.record({ type: "OperationReopened", op: seq, tasks: [], run });
    return { runId: run, process, input };
  });
  if (fresh.length > 0) {
    await work.writer.plan(
      [],
      fresh.map((child) => planned(work, child)),
    );
    await nudge(
      work.deps,
      fresh.map((child) => ({ agent, runId: child.runId, taskId: null })),
    );
  }
  const failed = (await children.outcomes(agent, runId, ids)).filter((e) => e.outcome.status === "failed");
  return starts.filter((start) => failed.some((e) => e.runId === start.run));
}

/** What of the log today's code asks for, as far as the log carries it: what an edit drops isn't begun only to be dropped. */
async function stillAsked(work: TickWork, again: () => Promise<Advance>): Promise<ReadonlySet<number>> {
  const { log, writer, deployed } = work;
  const recorded = log.length;
  for (let n = 0; n < CUTS_IN_ONE_ADVANCE_MAX; n++) {
    const { outcome } = await again();
    if (outcome.type !== "cut") break;
    const { fromSeq, reason } = outcome;
    const cut = { type: "StreamInvalidated", fromSeq, reason, generation: deployed.generation } as const;
    log.push({ ...cut, seq: writer.next + n, recordedAt: work.now() });
  }
  const standing = new Set(work.history().log.map((e) => e.seq));
  log.length = recorded;
  return standing;
}

async function reopen(
  work: TickWork,
  opened: readonly Opened[],
  children: readonly Start[],
  timeoutMs: number | null,
): Promise<void> {
  const { deps, deployed, hint } = work;
  const by = work.history().retry?.by ?? "";
  for (const { wave, ids } of opened) {
    const again = new Set(ids);
    const tasks = wave.tasks.flatMap((id, place) => (again.has(id) ? [place] : []));
    work.record({ type: "OperationReopened", op: wave.seq, tasks, ...newLimit(work, wave, timeoutMs) });
  }
  for (const { seq } of children) work.record({ type: "OperationReopened", op: seq, tasks: [] });
  const tasks = opened.flatMap((o) => o.ids);
  const runs = children.map((start) => start.run);
  await work.writer.reopen({ tasks, children: runs, answers: ANSWERS, generation: deployed.generation, by });
  await nudge(deps, [
    ...tasks.map((taskId) => ({ ...hint, taskId })),
    ...runs.map((runId) => ({ agent: hint.agent, runId, taskId: null })),
  ]);
}

/** As long as it had when it was planned, or as the code says today. */
function newLimit(work: TickWork, op: Recorded<Operation>, timeoutMs: number | null): { dueAt?: number } {
  const { recordedAt } = op;
  const dueAt = "dueAt" in op ? op.dueAt : undefined;
  if (dueAt === undefined) return {};
  return { dueAt: Math.ceil(work.now() + (timeoutMs ?? dueAt - recordedAt)) };
}
