// The run stream's fold (I1): what stands after cuts, and what of the cut part a new plan may use. Of a run that went on anew it is the fold of what came
// since: its beginning says all that counts of what stood before.
import type { Recorded, RunEvent, TaskOutcome } from "../events.ts";
import { Inherited } from "./inherited.ts";

export type RunLog = readonly Recorded<RunEvent>[];
/** Events of what a workflow asked for. Their seq is their id. */
export type Operation = Extract<RunEvent, { after: number }>;
export type WavePlanned = Extract<RunEvent, { type: "WavePlanned" }>;
export type ChildStarted = Extract<RunEvent, { type: "ChildStarted" }>;
/** What a run, or a part of one, begins with. */
export type Beginning = Extract<RunEvent, { type: "RunCreated" | "RunContinued" }>;
/** What happened to an operation. */
export type OperationFact = Exclude<Extract<RunEvent, { op: number }>, { type: "OperationReopened" }>;
type Reopened = Extract<RunEvent, { type: "OperationReopened" }>;

/** Names no operation: who gets it depends on who waits. */
export type Signal = Extract<RunEvent, { type: "SignalReceived" }>;

export const isOperation = (event: Recorded<RunEvent>): event is Recorded<Operation> => "after" in event;
export const isOperationFact = (event: Recorded<RunEvent>): event is Recorded<OperationFact> =>
  "op" in event && event.type !== "OperationReopened";
/** What the workflow's code is fed with. */
export type RunFact = OperationFact | Signal;
export const isRunFact = (event: Recorded<RunEvent>): event is Recorded<RunFact> =>
  isOperationFact(event) || event.type === "SignalReceived";
const isEnding = (event: RunEvent): boolean =>
  event.type === "RunCompleted" || event.type === "RunFailed" || event.type === "RunCancelled";

export interface RunHistory {
  /** What its last part began with. */
  readonly begun: Recorded<Beginning>;
  /** Of the raw log: decisions follow it. */
  readonly head: number;
  /** Facts of the inbox that were absorbed. */
  readonly absorbed: number;
  /** The raw log without what was cut. */
  readonly log: RunLog;
  /** Exceeds every wave in the raw log, so the ids of its tasks are new. */
  readonly nextWave: number;
  /** Effective plans by wave number: a fact about any other wave concerns nobody. */
  readonly plans: ReadonlyMap<number, Recorded<WavePlanned>>;
  /** Cut plans in creation order: their tasks may be claimed. */
  readonly cutPlans: readonly Recorded<WavePlanned>[];
  /** Tasks of effective plans: they can't be claimed. */
  readonly taken: ReadonlySet<string>;
  /** Effective starts of children, by the child's id: news of any other concerns nobody. */
  readonly children: ReadonlyMap<string, Recorded<ChildStarted>>;
  /** Cut starts of children in creation order: those may be taken over. */
  readonly cutChildren: readonly Recorded<ChildStarted>[];
  /** How children of the run that this one is a fork of ended, by their ids: the runs aren't its own, but the answers are. */
  readonly inherited: ReadonlyMap<string, TaskOutcome>;
  /** Tasks of cut plans, and cut children, of which somebody decided that what they did may be done again, with the last generation that may. */
  readonly givenUp: ReadonlyMap<string, number>;
  /** Effective operations that are over. */
  readonly over: ReadonlySet<number>;
  /** Due times of cut timers by digest, oldest first: a timer that is set again keeps its time. */
  readonly spareDueTimes: ReadonlyMap<string, readonly number[]>;
  /** The last retry; null: there was none. */
  readonly retry: Retry | null;
}

/** Somebody had a failed run go on. What failed before `seq` may be done again, once. */
export interface Retry {
  readonly seq: number;
  readonly by: string;
  /** Cancels up to this inbox number were about the attempt before. */
  readonly upTo: number;
  /** Operations that were opened again since. */
  readonly reopened: ReadonlySet<number>;
}

/** The raw stream without what was cut. A cut removes operations and endings, never facts: a completion lives as long as its operation. */
export const effective = (raw: RunLog): RunLog => foldRun(raw).log;

export const isBeginning = (event: Recorded<RunEvent>): event is Recorded<Beginning> =>
  event.type === "RunCreated" || event.type === "RunContinued";

/** What a run's last part began with. Nothing cuts it: every operation that a cut could be about comes after it. */
export function beginningOf(raw: RunLog): Recorded<Beginning> {
  const begun = raw.findLast(isBeginning);
  if (begun === undefined) throw new Error("a run's log begins with RunCreated, or a part of it with RunContinued");
  return begun;
}

/** `whole`: from the beginning of the run, or of one of its parts. */
export function foldRun(whole: RunLog): RunHistory {
  const begun = beginningOf(whole);
  const raw = whole.slice(whole.indexOf(begun));
  let log: Recorded<RunEvent>[] = [];
  let [nextWave, absorbed] = begun.type === "RunContinued" ? [begun.nextWave, begun.absorbed] : [0, 0];
  const cutPlans: Recorded<WavePlanned>[] = [];
  let cutChildren: Recorded<ChildStarted>[] = [];
  const inherited = new Inherited();
  const spare = new Map<string, number[]>();
  const givenUp = new Map<string, number>();
  let retry: (Retry & { readonly reopened: Set<number> }) | null = null;
  const gone = (cut: RunLog): void => {
    for (const event of cut) {
      if (event.type === "WavePlanned") cutPlans.push(event);
      if (event.type === "ChildStarted" && inherited.has(event.run)) cutChildren.push(event);
      if (event.type === "TimerSet") append(spare, event.digest, event.dueAt);
    }
  };
  for (const event of raw) {
    if ("inboxSeq" in event) absorbed = Math.max(absorbed, event.inboxSeq ?? 0);
    if (event.type === "TasksGivenUp") for (const id of event.tasks) givenUp.set(id, event.generation);
    if (event.type === "StreamInvalidated") {
      const { kept, cut } = cutFrom(log, event.fromSeq);
      log = kept;
      gone(cut);
      if (event.retry !== undefined) retry = { seq: event.seq, ...event.retry, reopened: new Set() };
      if (event.fork === undefined) continue;
      cutChildren = []; // what the source had dropped isn't this run's
      inherited.forked();
      continue;
    }
    if (event.type === "OperationReopened") {
      const { kept, cut } = reopen(log, event);
      log = kept;
      inherited.reopened(event, cut);
      gone(cut);
      retry?.reopened.add(event.op);
      continue;
    }
    if (event.type === "WavePlanned") nextWave = Math.max(nextWave, event.wave + 1);
    if (event.type === "TimerSet") take(spare, event.digest, event.dueAt);
    if (event.type === "ChildStarted") inherited.started(event);
    if (event.type === "ChildEnded") inherited.ended(event);
    log.push(event);
  }
  const plans = log.filter((event) => event.type === "WavePlanned");
  return {
    begun,
    head: raw.at(-1)?.seq ?? 0,
    absorbed,
    log,
    nextWave,
    plans: new Map(plans.map((plan) => [plan.wave, plan])),
    cutPlans: cutPlans.sort((a, b) => a.seq - b.seq),
    taken: new Set(plans.flatMap((plan) => plan.tasks)),
    children: new Map(log.flatMap((event) => (event.type === "ChildStarted" ? [[event.run, event]] : []))),
    cutChildren: cutChildren.sort((a, b) => a.seq - b.seq),
    inherited: inherited.ends,
    givenUp,
    over: new Set(
      log
        .filter(isOperationFact)
        .filter(endsOperation)
        .map((fact) => fact.op),
    ),
    spareDueTimes: spare,
    retry,
  };
}

/** A settled task is one of many, and a step that will be tried again isn't over. */
export const endsOperation = (fact: OperationFact): boolean =>
  fact.type !== "TaskSettled" && !(fact.type === "StepFailed" && fact.retryAt !== undefined);

function cutFrom(log: RunLog, fromSeq: number): { kept: Recorded<RunEvent>[]; cut: RunLog } {
  const cut = log.filter((event) => event.seq >= fromSeq && (isOperation(event) || isEnding(event)));
  const dead = new Set(cut.map((event) => event.seq));
  const kept = log.filter((event) => !dead.has(event.seq) && !(isOperationFact(event) && dead.has(event.op)));
  return { kept, cut };
}

/**
 * What the workflow asked for in the window that the operation's end had opened, and in the windows below it, goes with that end: else, when it ends in
 * another way, the log would contradict the code, and a cut takes everything after, of other branches too.
 */
function reopen(log: RunLog, { op, tasks, dueAt, run }: Reopened): { kept: Recorded<RunEvent>[]; cut: RunLog } {
  const opened = new Set([op]);
  const dead = new Set<number>();
  for (const event of log)
    if (isOperation(event) && opened.has(event.after)) {
      opened.add(event.seq);
      dead.add(event.seq);
    }
  const failed = new Set(tasks);
  const isVoid = (event: Recorded<OperationFact>): boolean =>
    dead.has(event.op) || (event.op === op && (event.type !== "TaskSettled" || failed.has(event.task)));
  return {
    cut: log.filter((event) => dead.has(event.seq)),
    kept: log
      .filter((event) => !dead.has(event.seq) && !(isOperationFact(event) && isVoid(event)))
      .map((event) => {
        if (event.seq !== op) return event;
        if (event.type === "ChildStarted" && run !== undefined) return { ...event, run };
        return "dueAt" in event && dueAt !== undefined ? { ...event, dueAt } : event;
      }),
  };
}

function append(lists: Map<string, number[]>, key: string, value: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/** A recorded timer that has a spare due time had taken it. */
function take(lists: Map<string, number[]>, key: string, value: number): void {
  const list = lists.get(key);
  const at = list?.indexOf(value) ?? -1;
  if (at >= 0) list?.splice(at, 1);
}
