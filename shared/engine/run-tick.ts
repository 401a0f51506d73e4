// One advance of a run: absorb what finished, let the workflow go on, dispatch what is next; again while steps run here; then park or end.
// The workflow is re-executed from the log each time (core/workflow/schedule.ts): nothing of it is kept between two rounds but running steps.
import type { ErrorInfo } from "../core/errors.ts";
import { type Fact, inboxCursor, parseRunEvents, type Recorded, type RunEvent } from "../core/events.ts";
import type { Json } from "../core/json.ts";
import { DEFER_MS, OPERATIONS_MAX, STEP_RESERVE_MS } from "../core/limits.ts";
import { FOREIGN_AWAIT } from "../core/workflow/ending.ts";
import { foldRun, type RunHistory } from "../core/workflow/fold.ts";
import { planTick } from "../core/workflow/plan.ts";
import {
  type Advance,
  type Outcome as Advanced,
  advance,
  type Execution,
  type StepCall,
} from "../core/workflow/schedule.ts";
import type { Deployed, ProcessDefinition } from "../ports/agents.ts";
import type { Hint } from "../ports/queue.ts";
import type { Outcome, PlannedWave, Wait } from "../ports/store.ts";
import { absorb } from "./absorb.ts";
import { cutRun } from "./cut-run.ts";
import type { Circumstances, EngineDeps, Worked } from "./deps.ts";
import { nudge, nudgeAt, streamOf, taskStream } from "./hints.ts";
import { type Steps, startSteps, stepEnd } from "./run-steps.ts";
import { createStreamWriter, giveUp, type StreamWriter } from "./stream-writer.ts";
import { giveBack, stepBack, takeStream } from "./take-stream.ts";

/** What the parts of one tick share. */
export interface TickWork {
  readonly deps: EngineDeps;
  readonly hint: Hint;
  readonly at: Circumstances;
  readonly deployed: Deployed;
  readonly writer: StreamWriter;
  /** The whole raw log, with what is buffered. */
  readonly log: Recorded<RunEvent>[];
  history(): RunHistory;
  /** The database's time, as of this round. */
  now(): number;
  record(event: RunEvent): void;
  /** Delivers a fact to one of the run's tasks, and its hint. */
  tell(taskId: string, key: string, fact: Fact): Promise<void>;
}

/** Ticks a run. Every outcome acknowledges the hint. @throws TorenError `database.unavailable`: the hint comes again. */
export async function runTick(deps: EngineDeps, hint: Hint, at: Circumstances): Promise<Worked> {
  const taken = await takeStream(deps, hint, at);
  if (taken.type === "not") return taken.worked;
  const { lease, deployed } = taken;
  const raw = await deps.store.streams.read(streamOf(hint), 0);
  const parsed = parseRunEvents(raw);
  if (!parsed.ok) {
    await giveBack(deps, lease, DEFER_MS);
    await stepBack(deps, hint, {
      code: "generation.older",
      message: `event ${parsed.seq} of type ${parsed.type} is of a newer version than this worker`,
    });
    return "deferred";
  }
  const writer = createStreamWriter(deps, lease, lease.head, inboxCursor(raw));
  const clock = { now: lease.now };
  const work = workOf(deps, hint, at, deployed, writer, parsed.events, clock);
  try {
    if (taken.crashLoop !== null) return await endRun(work, { type: "RunFailed", error: taken.crashLoop });
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

function workOf(
  deps: EngineDeps,
  hint: Hint,
  at: Circumstances,
  deployed: Deployed,
  writer: StreamWriter,
  log: Recorded<RunEvent>[],
  clock: { now: number },
): TickWork {
  let folded: { readonly length: number; readonly history: RunHistory } | undefined;
  return {
    deps,
    hint,
    at,
    deployed,
    writer,
    log,
    now: () => clock.now,
    history: () => {
      if (folded?.length !== log.length) folded = { length: log.length, history: foldRun(log) };
      return folded.history;
    },
    record: (event) => {
      const seq = writer.buffer(event);
      log.push({ ...event, seq, recordedAt: clock.now });
    },
    tell: async (taskId, key, fact) => {
      const delivered = await deps.store.streams.deliver(
        { agent: hint.agent, runId: hint.runId, streamId: taskStream(taskId) },
        key,
        fact,
      );
      if (delivered.type === "delivered") await nudge(deps, [{ ...hint, taskId }]);
    },
  };
}

type Prepared =
  | { readonly ok: true; readonly execution: Execution<Json> }
  | { readonly ok: false; readonly error: ErrorInfo };

/** The code of the run's process, as this worker has it, with the run's input. */
function prepare(work: TickWork): Prepared {
  const created = work.log[0];
  if (created?.type !== "RunCreated") throw new Error("a run's log begins with RunCreated");
  const process: ProcessDefinition | undefined = work.deployed.agent.processes.get(created.process);
  if (process === undefined) {
    const known = [...work.deployed.agent.processes.keys()].join(", ");
    return {
      ok: false,
      error: {
        code: "process.unknown",
        message: `The agent has no process "${created.process}" any more; it has: ${known}.`,
      },
    };
  }
  const { runId } = work.hint;
  if (process.kind === "role") {
    const { role } = process;
    return {
      ok: true,
      execution: { runId, input: created.input, workflow: async (ctx) => await ctx.ask<Json>(role, created.input) },
    };
  }
  const parsed = process.parseInput(created.input);
  if (!parsed.ok) return { ok: false, error: { code: "workflow.bad_input", message: parsed.message } };
  return { ok: true, execution: { runId, input: parsed.input, workflow: process.run as Execution<Json>["workflow"] } };
}

async function rounds(work: TickWork, execution: Execution<Json>, clock: { now: number }): Promise<Worked> {
  const { deps, writer } = work;
  const steps: Steps = { running: new Map(), finished: [] };
  let complete: readonly number[] = [];
  for (;;) {
    for (const result of steps.finished.splice(0)) work.record(stepEnd(result, clock.now));
    const cancelled = await absorb(work, complete);
    if (cancelled !== null) return await endRun(work, { type: "RunCancelled", ...cancelled });
    let advanced = await advanceOnce(work, execution);
    if (advanced.outcome.type === "cut") {
      const cut = await cutRun(work, advanced.outcome, () => advanceOnce(work, execution));
      if (cut.type === "not") return cut.worked;
      advanced = cut.advanced;
    }
    const waves = await planned(work, advanced);
    const { outcome } = advanced;
    if (outcome.type === "completed" || outcome.type === "failed") return await finish(work, outcome);
    if (outcome.type === "cut") throw new Error("a cut is never the last word of an advance");
    complete = await dispatch(work, waves);
    startSteps(deps, outcome.steps, steps, clock.now, writer.interrupt);
    if (complete.length > 0) continue;
    if (steps.running.size > 0) {
      await Promise.race([...steps.running.values(), writer.heard()]);
    } else {
      if (outcome.foreign()) return await endRun(work, { type: "RunFailed", error: FOREIGN_AWAIT });
      const worked = await park(work, outcome);
      if (worked !== null) return worked;
    }
    if (steps.running.size === 0 && steps.finished.length === 0 && mustHandOver(work)) return await handOver(work);
    clock.now = await deps.store.streams.now();
  }
}

const advanceOnce = (work: TickWork, execution: Execution<Json>): Promise<Advance> =>
  advance(execution, work.history(), { now: work.now(), seed: `${work.deps.random()}`, operationsMax: OPERATIONS_MAX });

/** Records the decisions; the waves among them are planned by `dispatch`, in the same statement. */
async function planned(work: TickWork, advanced: Advance): Promise<readonly PlannedWave[]> {
  const history = work.history();
  const { agent, runId } = work.hint;
  const digests = history.cutPlans.length === 0 ? [] : await work.deps.store.tasks.digests(agent, runId);
  const { events, waves } = planTick(advanced.decisions, history, new Map(digests.map((d) => [d.taskId, d.digest])));
  for (const event of events) work.record(event);
  return waves;
}

/** One statement for everything the tick decided. Returns waves that are complete already: all their tasks are claimed ones that had ended. */
async function dispatch(work: TickWork, waves: readonly PlannedWave[]): Promise<readonly number[]> {
  if (waves.length === 0) {
    await work.writer.flush();
    return [];
  }
  const { agent, runId } = work.hint;
  // A held task learns that it is claimed before the plan says so: dying in between leaves it running, not forgotten.
  for (const { wave, claimed } of waves)
    for (const taskId of claimed) await work.tell(taskId, `claim:${wave}`, { kind: "claim", wave });
  const { complete } = await work.writer.plan(waves);
  await nudge(
    work.deps,
    waves.flatMap((w) => w.fresh.map((t) => ({ agent, runId, taskId: t.taskId }))),
  );
  return complete;
}

/** Null: a fact came, or there is more to do at once; another round. */
async function park(work: TickWork, outcome: Advanced & { type: "blocked" }): Promise<Worked | null> {
  await holdUnclaimed(work);
  const times = [...outcome.pending.map((p) => p.dueAt), ...outcome.steps.map((s) => s.retryAt)].filter(
    (t) => t !== null,
  );
  const wait: Wait = outcome.pending.some((p) => p.type === "wave")
    ? "wave"
    : outcome.steps.length > 0
      ? "retry"
      : "timer";
  const wakeAt = times.length === 0 ? null : Math.min(...times);
  const { status } = await work.writer.flush({ type: "park", absorbed: work.writer.absorbed, wait, wakeAt });
  if (status === "running") return null;
  if (wakeAt !== null) await nudgeAt(work.deps, work.hint, wakeAt, work.now());
  return "parked";
}

/** Tasks of cut plans that no plan has claimed stop at their next step, until one does or the run ends. */
async function holdUnclaimed(work: TickWork): Promise<void> {
  const { cutPlans, taken } = work.history();
  const orphans = new Set(cutPlans.flatMap((p) => p.tasks).filter((id) => !taken.has(id)));
  if (orphans.size === 0) return;
  const cut = work.log.findLast((e) => e.type === "StreamInvalidated")?.seq ?? 0;
  const { agent, runId } = work.hint;
  for (const { taskId, wait } of await work.deps.store.tasks.open(agent, runId)) {
    if (orphans.has(taskId) && wait !== "claim") await work.tell(taskId, `hold:${cut}`, { kind: "hold" });
  }
}

const mustHandOver = ({ deps, hint, at, deployed }: TickWork): boolean =>
  (deps.agents.get(hint.agent)?.generation ?? 0) > deployed.generation ||
  at.stop.aborted ||
  at.remainingMs() < STEP_RESERVE_MS;

async function handOver(work: TickWork): Promise<Worked> {
  await work.writer.flush({ type: "release", afterMs: 0 });
  await nudge(work.deps, [work.hint], { solo: work.at.solo });
  return "handedOver";
}

/** The decision that ends the run is recorded already. */
async function finish(work: TickWork, outcome: Advanced & { type: "completed" | "failed" }): Promise<Worked> {
  const end: Outcome =
    outcome.type === "completed"
      ? { status: "completed", output: outcome.output }
      : { status: "failed", error: outcome.error };
  await work.writer.flush({ type: "end", outcome: end });
  await wakeCancelled(work);
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
  await wakeCancelled(work);
  return "ended";
}

/** The statement that ends a run has told its open tasks to stop; this only makes them hear it sooner. */
async function wakeCancelled(work: TickWork): Promise<void> {
  const { agent, runId } = work.hint;
  const open = await work.deps.store.tasks.open(agent, runId);
  await nudge(
    work.deps,
    open.map(({ taskId }) => ({ agent, runId, taskId })),
  );
}
