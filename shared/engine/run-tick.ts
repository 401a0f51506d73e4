// One advance of a run: absorb what finished, let the workflow go on, dispatch what is next; again while steps run here; then park or end.
// The workflow is re-executed from the log each time (core/workflow/schedule.ts): nothing of it is kept between two rounds but running steps.
import type { ErrorInfo } from "../core/errors.ts";
import { inboxCursor, parseRunEvents } from "../core/events.ts";
import type { Json } from "../core/json.ts";
import { OPERATIONS_MAX, TOOL_TIMEOUT_MAX_MS } from "../core/limits.ts";
import { FOREIGN_AWAIT } from "../core/workflow/ending.ts";
import { type Advance, type Outcome as Advanced, advance, type Execution } from "../core/workflow/schedule.ts";
import type { Hint } from "../ports/queue.ts";
import { absorb, giveUpWaits, perhapsDecided } from "./absorb.ts";
import { planned } from "./children.ts";
import { type CutRun, cutRun } from "./cut-run.ts";
import type { Circumstances, EngineDeps, Worked } from "./deps.ts";
import { handOver, mustHandOver } from "./hand-over.ts";
import { laneOf, nudge, streamOf } from "./hints.ts";
import { dueTimes, endRun, finish, goOnAnew, park, unsettledOf } from "./let-go.ts";
import { linkedTo } from "./linked-signal.ts";
import { planRound, type Round, waitForDecision } from "./plan-round.ts";
import { reopenOperation, reopenPending, toReopen } from "./reopen.ts";
import { type Steps, startSteps, stepEnd } from "./run-steps.ts";
import { createStreamWriter, giveUp } from "./stream-writer.ts";
import { leaveSealed, leaveToNewer, readOrGiveBack, type Taken, takeStream } from "./take-stream.ts";
import { prepare, type TickWork, tickWork } from "./tick-work.ts";

/** Ticks a run. Every outcome acknowledges the hint. @throws TorenError `database.unavailable`: the hint comes again. */
export const runTick = (deps: EngineDeps, hint: Hint, at: Circumstances): Promise<Worked> =>
  tick(deps, hint, at).catch((thrown) => leaveSealed(deps, hint, thrown));

async function tick(deps: EngineDeps, hint: Hint, at: Circumstances): Promise<Worked> {
  const taken = await takeStream(deps, hint, at);
  if (taken.type === "not") return taken.worked;
  const { lease, deployed } = taken;
  if (taken.crashLoop !== null) return await endUnread(deps, hint, at, taken, taken.crashLoop);
  const raw = await readOrGiveBack(deps, lease, () => deps.store.streams.read(streamOf(hint), lease.sealedSeq));
  const parsed = parseRunEvents(raw);
  if (!parsed.ok) return await leaveToNewer(deps, hint, lease, parsed);
  const writer = createStreamWriter(deps, lease, lease.head, inboxCursor(raw));
  const clock = { now: lease.now };
  const work = tickWork(deps, hint, at, deployed, writer, parsed.events, clock);
  try {
    const prepared = prepare(work);
    return prepared.ok
      ? await rounds(work, prepared.execution, clock)
      : await endRun(work, { type: "RunFailed", error: prepared.error });
  } catch (thrown) {
    return await giveUp(thrown, writer, (error) => endRun(work, { type: "RunFailed", error }));
  } finally {
    writer.close();
  }
}

/** Its log may be what kills the worker: a stream that is given up is ended without a look into it. */
async function endUnread(
  deps: EngineDeps,
  hint: Hint,
  at: Circumstances,
  { lease, deployed }: Taken & { type: "taken" },
  error: ErrorInfo,
): Promise<Worked> {
  const writer = createStreamWriter(deps, lease, lease.head, lease.inboxSeq);
  const work = tickWork(deps, hint, at, deployed, writer, [], { now: lease.now });
  try {
    return await endRun(work, { type: "RunFailed", error });
  } catch (thrown) {
    return await giveUp(thrown, writer, (again) => endRun(work, { type: "RunFailed", error: again }));
  } finally {
    writer.close();
  }
}

async function rounds(work: TickWork, execution: Execution<Json>, clock: { now: number }): Promise<Worked> {
  const { deps, writer } = work;
  const steps: Steps = { running: new Map(), finished: [] };
  await reopenPending(work, () => advanceOnce(work, execution));
  let complete: readonly number[] = perhapsDecided(work.history());
  for (;;) {
    for (const result of steps.finished.splice(0)) work.record(stepEnd(result, clock.now));
    const cancelled = await absorb(work, complete);
    if (cancelled !== null) return await endRun(work, { type: "RunCancelled", ...cancelled });
    const uncut = work.log.length;
    let [advanced, cuts] = [await advanceOnce(work, execution), NO_CUTS];
    if (advanced.outcome.type === "cut") {
      const cut = await cutRun(work, advanced.outcome, () => advanceOnce(work, execution));
      if (cut.type === "not") return cut.worked;
      ({ advanced, cuts } = cut);
    }
    const { outcome } = advanced;
    const failedBy = outcome.type === "failed" ? toReopen(work, outcome.culprit) : null;
    if (failedBy !== null && outcome.type === "failed") {
      for (const event of cuts) writer.buffer(event);
      await reopenOperation(work, failedBy, outcome.culprit?.timeoutMs);
      complete = perhapsDecided(work.history());
      clock.now = await deps.store.streams.now();
      continue;
    }
    const round = await planRound(work, advanced);
    if (round.type === "asked") {
      work.log.length = uncut;
      if (steps.running.size === 0 && steps.finished.length === 0)
        return await waitForDecision(work, cuts[0], round.repeated);
      await writer.flush();
      await stirred(work, [], steps); // a step that runs here isn't given up for a question
      clock.now = await deps.store.streams.now();
      continue;
    }
    for (const event of cuts) writer.buffer(event); // they stand in the log already
    const unsettled = unsettledOf(work.history());
    for (const event of round.events) work.record(event);
    if (outcome.type === "continued") return await goOnAnew(work, unsettled);
    if (outcome.type === "completed" || outcome.type === "failed") return await finish(work, outcome);
    if (outcome.type === "cut") throw new Error("a cut is never the last word of an advance");
    const gaveUp = giveUpWaits(work, outcome.pending);
    complete = await dispatch(work, round);
    const leaving = mustHandOver(work); // no step is begun by a worker, or by code, on its way out
    if (!leaving)
      startSteps({ sleep: deps.sleep, agent: work.deployed.agent }, outcome.steps, steps, clock.now, writer.interrupt);
    if (complete.length > 0 || gaveUp || round.adopted.length > 0) continue; // one that was taken over may have ended
    if (steps.running.size > 0 || steps.finished.length > 0)
      await stirred(work, laterThanNow(work, outcome, steps), steps);
    else if (leaving && outcome.steps.some((s) => (s.retryAt ?? 0) <= clock.now)) return await handOver(work);
    else {
      if (outcome.foreign()) return await endRun(work, { type: "RunFailed", error: FOREIGN_AWAIT });
      const worked = await park(work, outcome);
      if (worked !== null) return worked;
    }
    clock.now = await deps.store.streams.now();
  }
}

const NO_CUTS: Extract<CutRun, { type: "cut" }>["cuts"] = [];

/** When something is due that no step here is about. */
const laterThanNow = (work: TickWork, outcome: Advanced & { type: "blocked" }, steps: Steps): number[] =>
  dueTimes({
    ...outcome,
    steps: outcome.steps.filter((s) => !steps.running.has(s.seq) && (s.retryAt ?? 0) > work.now()),
  });

/** Until a step's end waits to be recorded, a fact came, or something else is due: a long step holds up no timer. */
async function stirred(work: TickWork, later: readonly number[], steps: Steps): Promise<void> {
  if (steps.finished.length > 0) return;
  const { deps, writer } = work;
  const clock = linkedTo(writer.interrupt);
  const waited: Promise<void>[] = [...steps.running.values(), writer.heard()];
  if (later.length > 0) {
    const ms = Math.min(TOOL_TIMEOUT_MAX_MS, Math.max(0, Math.min(...later) - work.now()));
    waited.push(deps.sleep(ms, clock.signal));
  }
  await Promise.race(waited);
  clock.abort();
}

const advanceOnce = (work: TickWork, execution: Execution<Json>): Promise<Advance> =>
  advance(execution, work.history(), { now: work.now(), seed: `${work.deps.random()}`, operationsMax: OPERATIONS_MAX });

/** One statement for everything the tick decided. Returns waves that are complete already: all their tasks are claimed ones that had ended. */
async function dispatch(work: TickWork, { waves, children }: Round & { type: "plan" }): Promise<readonly number[]> {
  if (waves.length === 0 && children.length === 0) {
    await work.writer.flush();
    return [];
  }
  const { agent, runId } = work.hint;
  const { complete } = await work.writer.plan(
    waves,
    children.map((child) => planned(work, child)),
  ); // it also tells held tasks that they are claimed
  await nudge(
    work.deps,
    children.map((child) => ({ agent, runId: child.runId, taskId: null })),
  );
  const tasks = waves.flatMap((w) => [...w.fresh, ...w.claimed.map((taskId) => ({ taskId, role: null }))]);
  for (const [lane, some] of Map.groupBy(tasks, ({ role }) => laneOf(work.deps, agent, role)))
    await nudge(
      work.deps,
      some.map(({ taskId }) => ({ agent, runId, taskId })),
      { lane },
    );
  return complete;
}
