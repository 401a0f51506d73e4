// A run's world without a database: a log, facts that come in ticks, and tasks that end as they are told.
import assert from "node:assert/strict";
import { type Recorded, type RunEvent, runEvent, type TaskOutcome } from "../../../shared/core/events.ts";
import type { Json } from "../../../shared/core/json.ts";
import type { WorkflowFn } from "../../../shared/core/workflow/context.ts";
import { partOf } from "../../../shared/core/workflow/continued.ts";
import {
  foldRun,
  isOperation,
  isRunFact,
  type Operation,
  type RunFact,
  type RunHistory,
  type RunLog,
  type WavePlanned,
} from "../../../shared/core/workflow/fold.ts";
import { planTick, type TickPlan } from "../../../shared/core/workflow/plan.ts";
import { type Advance, advance, type Decision, type Outcome } from "../../../shared/core/workflow/schedule.ts";
import { bits, short } from "./programs.ts";

export type Log = Recorded<RunEvent>[];
export type Op = Recorded<Operation>;

export const answer = (output: Json): TaskOutcome => ({ status: "completed", output });
export const failure = (message: string): TaskOutcome => ({
  status: "failed",
  error: { code: "model.refused", message },
});

export class World {
  readonly raw: Log;
  outcome: Outcome = { type: "failed", culprit: null, error: { code: "bug", message: "not ticked yet" } };
  cuts = 0;
  now = 1_000;
  seed = "seed";
  operationsMax = 500;
  refuses: (input: Json) => string | null = () => null;
  /** Content of every task ever planned, by id. */
  readonly digests = new Map<string, string>();
  readonly contents = new Map<string, string>();
  readonly input: Json;

  constructor(start?: RunLog, input: Json = null) {
    this.input = input;
    this.raw = start ? [...start] : [recorded(1, { type: "RunCreated", process: "main", input })];
  }
  get history(): RunHistory {
    return foldRun(this.raw);
  }
  get log(): RunLog {
    return this.history.log;
  }
  get ops(): Op[] {
    return this.log.filter(isOperation);
  }
  add(event: RunEvent): void {
    this.raw.push(recorded(this.raw.length + 1, runEvent.parse(event)));
  }
  advance(workflow: WorkflowFn<Json>): Promise<Advance> {
    const tick = { now: this.now, seed: this.seed, operationsMax: this.operationsMax };
    const { history, refuses } = this;
    const input = history.begun.type === "RunContinued" ? history.begun.input : this.input;
    return advance({ workflow, input, runId: "run-1", depth: 0, refuses }, history, tick);
  }
  /** Which part of the run it is in. */
  get part(): number {
    return partOf(this.history);
  }
  /** Absorbs facts, advances, records: again after a cut, when it goes on anew, or when a plan brought facts at once. */
  async tick(workflow: WorkflowFn<Json>, facts: readonly RunFact[] = []): Promise<Outcome> {
    for (const fact of facts) this.add(fact);
    for (;;) {
      const result = await this.advance(workflow);
      this.outcome = result.outcome;
      if (result.outcome.type === "cut") {
        const { fromSeq, reason } = result.outcome;
        assert.deepEqual(result.decisions, []);
        assert.ok(++this.cuts < 200, "cut storm");
        this.add({ type: "StreamInvalidated", fromSeq, reason, generation: 1 });
        continue;
      }
      const size = this.raw.length + result.decisions.length;
      this.record(result);
      if (this.raw.length === size && result.outcome.type !== "continued") return this.outcome;
    }
  }
  record({ decisions }: Advance): void {
    const plan = this.plan(decisions);
    for (const [i, event] of plan.events.entries()) {
      assert.equal(decisions[i]?.seq, this.raw.length + 1, "decision i has seq head + i + 1");
      this.add(event);
    }
    for (const wave of plan.waves) {
      for (const task of wave.fresh) {
        assert.ok(!this.digests.has(task.taskId), `${task.taskId} is new`);
        this.digests.set(task.taskId, task.digest);
        this.contents.set(task.taskId, JSON.stringify([task.role, task.input]));
      }
      this.planned(
        this.log.find(
          (e): e is Recorded<WavePlanned> => e.type === "WavePlanned" && e.wave === wave.wave,
        ) as Recorded<WavePlanned>,
        wave.claimed,
      );
    }
  }
  protected plan(decisions: readonly Decision[]): TickPlan {
    return planTick(decisions, this.history, this);
  }
  protected planned(_plan: Recorded<WavePlanned>, _claimed: readonly string[]): void {}
}

const recorded = (seq: number, event: RunEvent): Recorded<RunEvent> => ({ ...event, seq, recordedAt: 0 });

/** What happens to an operation, as `how` says. Values name the operation by its place among all, so that a mix-up shows. */
function ends(op: Op, nth: number, how: number): RunFact[] {
  const at = { op: op.seq };
  switch (op.type) {
    case "WavePlanned": {
      const fate = (i: number): TaskOutcome =>
        (how >> (4 + i)) % 8 === 0 ? failure(`bad${nth}`) : answer(`t${nth}.${i}`);
      const late = op.dueAt !== undefined && how % 3 === 0;
      const order = op.tasks.map((_, i) => i);
      const settled: RunFact[] = [];
      if (how % 2) order.reverse();
      for (const task of order) {
        if (late && task === 0) break;
        settled.push({ type: "TaskSettled", ...at, task, outcome: fate(task) });
        if (op.onTaskFailure === "fail" && fate(task).status === "failed") break;
      }
      return [...settled, { type: late ? "TimerFired" : "WaveSettled", ...at }];
    }
    case "StepStarted": {
      const error = { code: "step.failed", message: `step${nth}` } as const;
      const again: RunFact[] = how % 5 === 0 ? [{ type: "StepFailed", ...at, error, retryAt: 9 }] : [];
      return [
        ...again,
        how % 8 === 0 ? { type: "StepFailed", ...at, error } : { type: "StepCompleted", ...at, value: `v${nth}` },
      ];
    }
    case "ChildStarted":
      return [{ type: "ChildEnded", ...at, outcome: answer(`c${nth}`) }];
    case "SignalAwaited":
      if (op.dueAt !== undefined && how % 3 === 0) return [{ type: "TimerFired", ...at }];
      return [{ type: "SignalReceived", signal: op.signal, value: `v${nth}`, inboxSeq: 1 }];
    default:
      return [{ type: "TimerFired", ...at }];
  }
}

/** One of the run's pending operations ends: the nth of all recorded. */
export interface Happening {
  readonly nth: number;
  readonly how: number;
  /** Nothing ends: a signal comes, whoever waits. */
  readonly signal?: true;
  /** In which part of the run. */
  readonly part: number;
}
export function factsOf(world: World, { nth, how, signal, part }: Happening): RunFact[] | undefined {
  if (world.part !== part) return undefined;
  if (signal) return [{ type: "SignalReceived", signal: `s${nth % 3}`, value: `early${how}`, inboxSeq: 1 }];
  const op = world.ops[nth];
  return op && ends(op, nth, how);
}

/** One completion a tick, chosen among all that are pending. */
export async function drive(
  workflow: WorkflowFn<Json>,
  how: readonly number[],
  max = 80,
): Promise<{ world: World; story: Happening[] }> {
  const world = new World();
  const story: Happening[] = [];
  await world.tick(workflow);
  for (let i = 0; i < max && world.outcome.type === "blocked"; i++) {
    const c = (how[i % how.length] ?? 0) + i;
    const { pending } = world.outcome;
    const seq = pending[c % pending.length]?.seq;
    const happening: Happening = {
      nth: world.ops.findIndex((op) => op.seq === seq),
      how: c,
      part: world.part,
      ...(c % 7 === 0 ? { signal: true } : {}),
    };
    story.push(happening);
    await world.tick(workflow, factsOf(world, happening));
  }
  return { world, story };
}

/** The log with operations named by their place in issue order: what must be equal whatever the grouping. Of an ended run what had completed (S7). */
export function normal(log: RunLog): { ops: string[]; facts: string[]; end: string[] } {
  const end = log.filter((e, i) => /^Run(Completed|Failed)$/.test(e.type) || (e.type === "RunContinued" && i > 0));
  const facts = log.filter(isRunFact);
  const completed = new Set(facts.map((fact) => ("op" in fact ? fact.op : 0)));
  const ops = log.filter(isOperation).filter((op) => end.length === 0 || completed.has(op.seq) || needsNobody(op));
  const place = new Map([0, ...ops.map((op) => op.seq)].map((seq, i) => [seq, i]));
  return {
    ops: ops.map((op) =>
      text({ ...op, after: place.get(op.after), wave: 0, tasks: "tasks" in op ? op.tasks.length : 0, run: "" }),
    ),
    facts: facts.map((fact) => text({ ...fact, op: "op" in fact ? place.get(fact.op) : 0 })),
    end: end.map((e) => text({ ...e, nextWave: 0, recordedAt: 0 })),
  };
}
/** A log's parts, each with the event that ended it. */
export const partsOf = (log: RunLog): RunLog[] => {
  const ends = log.flatMap((e, i) => (e.type === "RunContinued" ? [i] : []));
  return [...ends, log.length].map((end, k) => log.slice(ends[k - 1] ?? 0, end + 1));
};
const needsNobody = (op: Operation): boolean =>
  "value" in op || op.type === "SignalAwaited" || (op.type === "WavePlanned" && op.tasks.length === 0);
const text = (event: object): string => JSON.stringify({ ...event, seq: 0 });

/** A world whose tasks answer by their content, and that counts which contents are paid for. */
export class Paid extends World {
  readonly done = new Map<string, TaskOutcome>();
  /** How often each content was run, and the most that one effective log held of it. */
  readonly runs = new Map<string, number>();
  readonly most = new Map<string, number>();
  claimed = 0;
  flaky = false;
  code: WorkflowFn<Json> = async () => null;

  protected override planned(plan: Recorded<WavePlanned>, claimed: readonly string[]): void {
    this.claimed += claimed.length;
    for (const id of plan.tasks) if (!claimed.includes(id)) add(this.runs, this.content(id));
    const now = new Map<string, number>();
    for (const id of [...this.history.plans.values()].flatMap((p) => p.tasks)) add(now, this.content(id));
    for (const [content, n] of now) this.most.set(content, Math.max(n, this.most.get(content) ?? 0));
    const complete = claimed.length > 0 && plan.tasks.every((id) => this.done.has(id)); // no fact will come for it
    if (complete) for (const fact of this.settle(plan)) this.add(fact);
  }
  content(id: string): string {
    return this.contents.get(id) ?? "";
  }
  settle(plan: Recorded<WavePlanned>): RunFact[] {
    const settled = plan.tasks.map((id, task): RunFact => {
      const content = this.content(id);
      const fails = this.flaky && bits(`f${content}`) % 17 === 0;
      const outcome = this.done.get(id) ?? (fails ? failure("bad") : answer(short(content)));
      this.done.set(id, outcome);
      return { type: "TaskSettled", op: plan.seq, task, outcome };
    });
    return [...settled, { type: "WaveSettled", op: plan.seq }];
  }
  /** Goes on, one completion a tick, with this code. */
  async go(workflow: WorkflowFn<Json>, how: readonly number[], max: number): Promise<void> {
    this.code = workflow;
    await this.tick(workflow);
    for (let i = 0; i < max && this.outcome.type === "blocked"; i++) {
      const c = (how[i % how.length] ?? 0) + i;
      const { pending } = this.outcome;
      const op = this.ops.find((o) => o.seq === pending[c % pending.length]?.seq);
      if (op !== undefined) await this.tick(workflow, op.type === "WavePlanned" ? this.settle(op) : ends(op, 0, c));
    }
  }
}

const add = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
