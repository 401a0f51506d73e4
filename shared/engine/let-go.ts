// How a tick lets go of its run: parked until a fact or a time, handed on, or ended.
import type { RunEvent } from "../core/events.ts";
import { isBeginning, type RunHistory } from "../core/workflow/fold.ts";
import type { Outcome as Advanced } from "../core/workflow/schedule.ts";
import type { Outcome, Wait } from "../ports/store.ts";
import type { Worked } from "./deps.ts";
import { nudge } from "./hints.ts";
import { parkStream } from "./park-stream.ts";
import type { TickWork } from "./tick-work.ts";

/** Of timers and time-outs, and of steps that will be tried again, in milliseconds since 1970. */
export const dueTimes = ({ pending, steps }: Advanced & { type: "blocked" }): number[] =>
  [...pending.map((p) => p.dueAt), ...steps.map((s) => s.retryAt)].filter((t) => t !== null);

/** Null: a fact came, or there is more to do at once; another round. */
export async function park(work: TickWork, outcome: Advanced & { type: "blocked" }): Promise<Worked | null> {
  await holdUnclaimed(work);
  const times = dueTimes(outcome);
  const kinds = new Set(outcome.pending.map((p) => p.type));
  const wait: Wait = kinds.has("wave")
    ? "wave"
    : kinds.has("child")
      ? "child"
      : outcome.steps.length > 0
        ? "retry"
        : kinds.has("signal")
          ? "signal"
          : "timer";
  return await parkStream(work, wait, times.length === 0 ? null : { at: Math.min(...times), now: work.now() });
}

/** Tasks of cut plans that no plan has claimed stop at their next step, until one does or the run ends. */
async function holdUnclaimed(work: TickWork): Promise<void> {
  const { cutPlans, taken } = work.history();
  const dropped = new Map(cutPlans.flatMap((p) => p.tasks.map((id) => [id, p.wave] as const))); // by the last plan that held them
  for (const id of taken) dropped.delete(id);
  if (dropped.size === 0) return;
  const { agent, runId } = work.hint;
  for (const { taskId, wait } of await work.deps.store.tasks.open(agent, runId)) {
    const wave = dropped.get(taskId);
    if (wave !== undefined && wait !== "claim") await work.tell(taskId, `hold:${wave}`, { kind: "hold", wave });
  }
}

/** The decision that ends the run is recorded already. */
export async function finish(work: TickWork, outcome: Advanced & { type: "completed" | "failed" }): Promise<Worked> {
  const end: Outcome =
    outcome.type === "completed"
      ? { status: "completed", output: outcome.output }
      : { status: "failed", error: outcome.error };
  await work.writer.flush({ type: "end", outcome: end });
  await wakeOthers(work);
  return "ended";
}

export async function endRun(
  work: TickWork,
  event: Extract<RunEvent, { type: "RunFailed" | "RunCancelled" }>,
): Promise<Worked> {
  work.record(event);
  await work.writer.flush({
    type: "end",
    outcome: { status: event.type === "RunFailed" ? "failed" : "cancelled", error: event.error },
  });
  await wakeOthers(work);
  return "ended";
}

/** What has begun and isn't over, as far as the log tells: some of it may have ended since. */
export interface Unsettled {
  readonly tasks: readonly string[];
  readonly children: readonly string[];
}

export function unsettledOf({ log, plans, over, taken, cutPlans, children, cutChildren }: RunHistory): Unsettled {
  const settled = new Set(log.flatMap((e) => (e.type === "TaskSettled" ? [`${e.op} ${e.task}`] : [])));
  const open = [...plans.values()]
    .filter((plan) => !over.has(plan.seq))
    .flatMap((plan) => plan.tasks.filter((_, place) => !settled.has(`${plan.seq} ${place}`)));
  const dropped = cutPlans.flatMap((plan) => plan.tasks.filter((id) => !taken.has(id)));
  const running = [...children.values()].filter(({ seq }) => !over.has(seq)).map(({ run }) => run);
  const left = cutChildren.map(({ run }) => run).filter((run) => !children.has(run));
  return { tasks: [...new Set([...open, ...dropped])], children: [...new Set([...running, ...left])] };
}

/**
 * The event that begins the next part is recorded already. Its tick is another one's: it reads what counts now and no more, by the newest code, and steps that run
 * here are given up with this writer.
 */
export async function goOnAnew(work: TickWork, unsettled: Unsettled): Promise<Worked> {
  const { deps, hint, at, writer } = work;
  const { absorbed } = work.history();
  await writer.flush({ type: "continue", absorbed, ...unsettled });
  const { agent, runId } = hint;
  await nudge(deps, [
    ...unsettled.tasks.map((taskId) => ({ agent, runId, taskId })),
    ...unsettled.children.map((child) => ({ agent, runId: child, taskId: null })),
  ]);
  await nudge(deps, [hint], { lane: at.solo ? "solo" : undefined });
  return "handedOver";
}

/** The statement that ends a run has told its parent, and its open tasks and children to stop; this only makes them hear it sooner. */
async function wakeOthers(work: TickWork): Promise<void> {
  const { agent, runId } = work.hint;
  const { tasks, children } = work.deps.store;
  const [open, below] = await Promise.all([tasks.open(agent, runId), children.open(agent, runId)]);
  const parent = work.log.findLast(isBeginning)?.parent?.run; // a run that is ended unread has none in sight
  await nudge(work.deps, [
    ...open.map(({ taskId }) => ({ agent, runId, taskId })),
    ...[...below, ...(parent === undefined ? [] : [parent])].map((other) => ({ agent, runId: other, taskId: null })),
  ]);
}
