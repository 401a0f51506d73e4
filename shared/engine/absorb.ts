// What a tick takes in before it lets the workflow go on: facts of its inbox, due times, and waves whose tasks had all ended when they were planned.

import type { ErrorInfo } from "../core/errors.ts";
import type { Recorded, RunEvent } from "../core/events.ts";
import { jsonBytes } from "../core/json.ts";
import { SETTLE_CHUNK_BYTES } from "../core/limits.ts";
import { isOperation, type RunHistory } from "../core/workflow/fold.ts";
import type { PendingOperation } from "../core/workflow/schedule.ts";
import { ChildOutcomes, perhapsEnded } from "./children.ts";
import { isCutAsked } from "./cut-request.ts";
import type { TickWork } from "./tick-work.ts";

type Plan = Recorded<Extract<RunEvent, { type: "WavePlanned" }>>;

/** Null: go on. Else the run was cancelled by the fact with this inbox number. */
export async function absorb(
  work: TickWork,
  complete: readonly number[],
): Promise<{ inboxSeq: number; error: ErrorInfo } | null> {
  const facts = await work.writer.facts();
  const silent = perhapsEnded(work.hint.runId, work.history());
  const told = facts.flatMap(({ fact }) => (fact.kind === "child" ? [fact.run] : []));
  const outcomes = new ChildOutcomes(work, [...told, ...silent]);
  for (const { seq, key, fact } of facts) {
    const stale = seq <= (work.history().retry?.upTo ?? 0);
    if (fact.kind === "cancel" && !stale) return { inboxSeq: seq, error: { code: fact.code, message: fact.reason } };
    if (fact.kind === "wave") await settleWave(work, fact.wave, seq);
    else if (fact.kind === "child") await outcomes.settle(fact.run, seq);
    else if (fact.kind === "signal")
      work.record({ type: "SignalReceived", signal: fact.signal, value: fact.value, inboxSeq: seq });
    else if (fact.kind === "cutDecision" && isCutAsked(work.log, key))
      work.record({ type: "CutDecided", decision: fact.decision, by: fact.by, inboxSeq: seq });
    else {
      const reason = fact.kind === "cancel" ? "the run was retried since" : `a ${fact.kind} concerns no run`;
      work.record({ type: "FactIgnored", inboxSeq: seq, reason });
    }
  }
  for (const wave of complete) await settleWave(work, wave, null);
  for (const run of silent) await outcomes.settle(run, null);
  await fireDue(work);
  return null;
}

/**
 * Waves for which perhaps no fact comes: those that took over tasks of cut plans may have been decided when they were planned. Their planner learned it
 * from the statement, and may have died since. Tasks that ended when their run had failed told nobody.
 */
export const perhapsDecided = ({ plans, over, retry }: RunHistory): number[] =>
  [...plans.values()]
    .filter((plan) => !over.has(plan.seq))
    .filter((plan) => plan.seq < (retry?.seq ?? 0) || plan.tasks.some((id) => !id.startsWith(`w${plan.wave}t`)))
    .map((plan) => plan.wave);

/**
 * All outcomes in one query. A wave that was cut, or is over, concerns nobody: its fact is absorbed all the same. Whether a failure ends
 * it is read from the outcomes, not from the fact: a plan that claims a failed task gets no fact.
 */
async function settleWave(work: TickWork, wave: number, inboxSeq: number | null): Promise<void> {
  const history = work.history();
  const plan = history.plans.get(wave);
  if (plan === undefined || history.over.has(plan.seq)) {
    if (inboxSeq !== null) work.record({ type: "FactIgnored", inboxSeq, reason: `wave ${wave} is over, or was cut` });
    return;
  }
  const { open, failed } = await recordOutcomes(work, history, plan);
  if (open.length > 0 && !(failed && plan.onTaskFailure === "fail")) {
    if (inboxSeq !== null) work.record({ type: "FactIgnored", inboxSeq, reason: `wave ${wave} has open tasks` });
    return;
  }
  await cancelTasks(work, open, { code: "task.cancelled", message: `another task of wave ${plan.name} failed` });
  work.record({ type: "WaveSettled", op: plan.seq, ...(inboxSeq === null ? {} : { inboxSeq }) });
}

interface Outcomes {
  readonly open: readonly string[];
  readonly failed: boolean;
}

/** TaskSettled for each task of the plan that has ended and isn't on record yet, in the plan's order. */
async function recordOutcomes(work: TickWork, history: RunHistory, plan: Plan): Promise<Outcomes> {
  const settled = new Map(
    history.log.flatMap((e) => (e.type === "TaskSettled" && e.op === plan.seq ? [[e.task, e.outcome] as const] : [])),
  );
  const wanted = plan.tasks.filter((_, place) => !settled.has(place));
  const { agent, runId } = work.hint;
  const ended = new Map((await work.deps.store.tasks.outcomes(agent, runId, wanted)).map((e) => [e.taskId, e.outcome]));
  let bytes = 0;
  for (const [place, taskId] of plan.tasks.entries()) {
    const outcome = ended.get(taskId);
    if (settled.has(place) || outcome === undefined) continue;
    work.record({ type: "TaskSettled", op: plan.seq, task: place, outcome });
    bytes += outcome.status === "completed" ? jsonBytes(outcome.output) : 0;
    if (bytes < SETTLE_CHUNK_BYTES) continue;
    await work.writer.flush(); // many large outputs: a chunk of them is no end of the wave yet
    bytes = 0;
  }
  const failed = [...settled.values(), ...ended.values()].some((outcome) => outcome.status === "failed");
  return { open: wanted.filter((taskId) => !ended.has(taskId)), failed };
}

/** Timers, and time-outs of waves, by the database's clock (I8). */
async function fireDue(work: TickWork): Promise<void> {
  const history = work.history();
  for (const op of history.log.filter(isOperation)) {
    if (!("dueAt" in op) || op.dueAt === undefined || op.dueAt > work.now() || history.over.has(op.seq)) continue;
    if (op.type === "SignalAwaited") continue; // whether its signal came only its workflow knows
    if (op.type === "WavePlanned") {
      const { open } = await recordOutcomes(work, history, op);
      await cancelTasks(work, open, { code: "task.timeout", message: `wave ${op.name} reached its time-out` });
    }
    work.record({ type: "TimerFired", op: op.seq });
  }
}

/** Waits for signals that are pending when all signals have been fed, and whose time has passed. Whether there were any: then the workflow goes on. */
export function giveUpWaits(work: TickWork, pending: readonly PendingOperation[]): boolean {
  const late = pending.filter((p) => p.type === "signal" && p.dueAt !== null && p.dueAt <= work.now());
  for (const { seq } of late) work.record({ type: "TimerFired", op: seq });
  return late.length > 0;
}

/** Before the event that says so is written: a tick that dies in between finds the same reason again, and the fact's key makes it one. */
async function cancelTasks(
  work: TickWork,
  taskIds: readonly string[],
  error: { code: "task.cancelled" | "task.timeout"; message: string },
): Promise<void> {
  const retry = work.history().retry?.seq;
  const key = retry === undefined ? "cancel" : `cancel:${retry}`; // it may have been told so before the retry
  for (const taskId of taskIds)
    await work.tell(taskId, key, { kind: "cancel", code: error.code, reason: error.message });
}
