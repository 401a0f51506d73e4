// One run as people read it: its tree of waves and tasks, what it used and cost, and why it stands still if it does.

import type { Price } from "../core/cost.ts";
import type { ErrorCode } from "../core/errors.ts";
import { parseRunEvents, type RawEvent, type TaskEvent, TERMINAL } from "../core/events.ts";
import { CHILDREN_SHOWN_MAX, TURNS_PAGE } from "../core/limits.ts";
import { type Accounts, accountsOf, totalAccounts } from "../core/receipt.ts";
import { taskIdOf } from "../core/stream-id.ts";
import { awaitedSignals } from "../core/workflow/awaited.ts";
import { effective } from "../core/workflow/fold.ts";
import type { WaitingCut } from "../ports/overview.ts";
import type { Below, ChildRow, PendingApproval, RunRow, RunStatus, StreamRow } from "../ports/store.ts";
import type { EngineDeps } from "./deps.ts";
import { type TurnsPage, turnsOf } from "./read-turns.ts";

export interface TaskView extends Accounts {
  readonly taskId: string;
  readonly role: string | null;
  readonly status: StreamRow["status"];
  readonly outcome: StreamRow["outcome"];
  readonly wait: StreamRow["wait"];
  readonly wakeAt: number | null;
  readonly problem: StreamRow["problem"];
  /** When it was first worked on, and when it ended; null: not yet. */
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}
export interface WaveView {
  readonly wave: number;
  readonly tasks: readonly TaskView[];
}
/** A signal that the run's workflow waits for. */
export interface AwaitedSignal {
  readonly signal: string;
  /** When the wait began. */
  readonly since: number;
  /** When it is over without one; null: never. */
  readonly dueAt: number | null;
}
export interface RunView extends Accounts {
  readonly run: RunRow;
  readonly waves: readonly WaveView[];
  /** What the run's own stream waits for, and why a writer stepped back from it. */
  readonly wait: StreamRow["wait"];
  readonly problem: StreamRow["problem"];
  /** Calls that wait for a person, and those that were decided; oldest first. */
  readonly approvals: readonly PendingApproval[];
  readonly cuts: readonly WaitingCut[];
  /** Of a run that waits for nothing but signals and times; longest first. */
  readonly signals: readonly AwaitedSignal[];
  /** Runs that its workflow started, the oldest first, and how many there are. */
  readonly children: readonly ChildRow[];
  readonly childCount: number;
  /** What everything below it came to; null: there is nothing. What the run itself came to doesn't hold it. */
  readonly below: Below | null;
  /** Of a session the last turns, and how many there are; null: the run is none. */
  readonly said: TurnsPage | null;
  /** The first reason to look at: a failed run's error, a stream that waits for a decision, a writer that stepped back. */
  readonly reason: string | null;
}

type ReadDeps = Pick<EngineDeps, "store">;

export async function readRun(
  deps: ReadDeps,
  { agent, runId }: { agent: string; runId: string },
): Promise<RunView | null> {
  // The row first, then the streams: what stands beside them is then at least as new, so a run or a task that is shown as ended is shown with its last answer.
  const run = await deps.store.runs.get(agent, runId);
  if (run === null) return null;
  const last = { before: null, limit: TURNS_PAGE };
  const streams = await deps.store.runs.streams(agent, runId);
  const own = streams.find((s) => s.streamId === "run");
  const [calls, approvals, said, signals, family, below] = await Promise.all([
    deps.store.runs.callEvents(agent, runId),
    deps.store.tasks.approvals(agent, runId),
    run.mode === "session" ? turnsOf(deps, run, last) : null,
    run.status === "waitingSignal" ? signalsOf(deps, { agent, runId }, own?.sealedSeq ?? 0) : [],
    deps.store.children.list(agent, runId, CHILDREN_SHOWN_MAX),
    deps.store.children.below(agent, runId),
  ]);
  const events = Map.groupBy(calls, (c) => c.streamId);
  const view = (s: StreamRow): TaskView => {
    const log: RawEvent[] = (events.get(s.streamId) ?? []).map((c) => c.event);
    const accounts = accountsOf(log, s.copiedSeq);
    return {
      ...accounts,
      taskId: taskIdOf(s.streamId) ?? s.streamId,
      role: s.role,
      status: s.status,
      outcome: s.outcome,
      wait: s.wait,
      wakeAt: s.wakeAt,
      problem: s.problem,
      startedAt: log.find((e) => e.type === "TaskStarted")?.recordedAt ?? null,
      endedAt: log.findLast((e) => TERMINAL.has(e.type))?.recordedAt ?? null,
    };
  };
  const tasks = streams.filter((s) => s.streamId !== "run");
  const waves = [...Map.groupBy(tasks, (s) => s.wave ?? -1)]
    .sort(([a], [b]) => a - b)
    .map(([wave, members]): WaveView => ({ wave, tasks: members.map(view).sort((a, b) => place(a) - place(b)) }));
  const cuts = waitingCuts(streams, events);
  const total = totalAccounts(waves.flatMap((w) => w.tasks));
  return {
    ...total,
    run,
    waves,
    wait: own?.wait ?? null,
    problem: own?.problem ?? null,
    approvals,
    cuts,
    signals,
    children: family.children,
    childCount: family.count,
    below,
    said,
    reason: reasonOf(run, streams, cuts, approvals, signals) ?? (run.endedAt === null ? belowReason(below) : null),
  };
}

async function signalsOf(
  { store }: ReadDeps,
  run: { agent: string; runId: string },
  sealedSeq: number,
): Promise<AwaitedSignal[]> {
  const parsed = parseRunEvents(await store.streams.read({ ...run, streamId: "run" }, sealedSeq));
  if (!parsed.ok) return []; // of a newer version: its own worker knows
  return awaitedSignals(effective(parsed.events)).map(({ signal, recordedAt: since, dueAt = null }) => ({
    signal,
    since,
    dueAt,
  }));
}

/** Task ids are `w<wave>t<n>`: by number, so that t10 stands after t9. */
const place = (t: TaskView): number => Number(/t(\d+)$/.exec(t.taskId)?.[1] ?? 0);

type CutRequested = Extract<TaskEvent, { type: "CutRequested" }>;
type CallEvents = ReadonlyMap<string, readonly { readonly event: RawEvent }[]>;

function waitingCuts(streams: readonly StreamRow[], events: CallEvents): WaitingCut[] {
  return streams.flatMap(({ streamId, wait }) => {
    if (wait !== "cut") return [];
    const asked = (events.get(streamId) ?? []).findLast(({ event }) => event.type === "CutRequested")?.event;
    if (asked === undefined) return [];
    const { reason, calls, price, instead = null } = asked.payload as Omit<CutRequested, "type">;
    return { stream: streamId, reason, calls, price, instead, requestedAt: asked.recordedAt };
  });
}

/** What to do about it stands in the line itself: whoever reads it may have nothing else before them. */
function reasonOf(
  run: RunRow,
  streams: readonly StreamRow[],
  cuts: readonly WaitingCut[],
  approvals: readonly PendingApproval[],
  signals: readonly AwaitedSignal[],
): string | null {
  if (run.error !== null) return `${run.error.code}: ${run.error.message}`;
  if (run.endedAt !== null) return null;
  const stepped = streams.find((s) => s.problem !== null);
  if (stepped?.problem) return `${stepped.streamId}: ${stepped.problem.code}: ${stepped.problem.message}`;
  const [cut] = cuts;
  if (cut !== undefined) return cutReason(run.runId, cut);
  const open = approvals.filter((a) => a.decided === null);
  if (open.length > 0) return approvalReason(run.runId, open);
  const [awaited] = signals;
  if (awaited !== undefined)
    return `waits for the signal ${awaited.signal}: \`toren jobs signal ${run.runId} NAME VALUE\``;
  if (run.status !== "awaitingInput") return null;
  return `waits for its user: \`toren jobs send ${run.runId} TEXT\` or \`toren chat --run ${run.runId}\``;
}

const WAITS: Partial<Record<RunStatus, string>> = {
  waitingCut: "a decision",
  waitingApproval: "approval",
  awaitingInput: "its user",
  waitingSignal: "a signal",
};

/** A run that waits for its children does so as long as one of them waits for a person. */
function belowReason(below: Below | null): string | null {
  if (below?.waiting == null) return null;
  const { runs, runId, process, status } = below.waiting;
  const more = runs === 1 ? "" : `, and ${runs - 1} more below wait${runs === 2 ? "s" : ""}`;
  return `run ${runId} below (${process}) waits for ${WAITS[status]}${more}: \`toren jobs show ${runId}\``;
}

const NEEDS_DECISION: ErrorCode = "cut.needs_decision";

function cutReason(runId: string, { stream, reason, calls, price, instead }: WaitingCut): string {
  const named = calls.length === 0 ? "" : ` (${calls.join(", ")}), and ${paidAgain(price)}`;
  const keep = instead?.standing === 0 ? "" : " to repeat it, or `--keep` to go on from what is recorded";
  return `${stream}: ${NEEDS_DECISION}: an edit (${reason}) would repeat a call that has effects outside${named}; decide with \`toren jobs resume ${runId} --rerun\`${keep}; or revert the edit and run \`toren jobs resume ${runId}\``;
}

function paidAgain({ modelCalls, usd, simulated }: Price): string {
  const answers = `${modelCalls} model ${modelCalls === 1 ? "answer" : "answers"}`;
  const dollars = usd === null ? "at an unknown price" : `for ${simulated ? "simulated " : ""}$${usd}`;
  return modelCalls === 0 ? "no model answer" : `${answers} ${dollars}`;
}

const REASON_ARGS_CHARS = 200;
const UNKNOWN_OUTCOME =
  "ran when its worker died, so it may have taken effect: whether to run it again waits for a decision";

function approvalReason(runId: string, open: readonly PendingApproval[]): string {
  const [first, ...others] = open;
  const args = JSON.stringify(first?.args ?? null);
  const shown = args.length <= REASON_ARGS_CHARS ? args : `${args.slice(0, REASON_ARGS_CHARS).toWellFormed()}…`;
  const what =
    others.length === 0
      ? `${first?.tool} ${shown} ${first?.reason === "unknownOutcome" ? UNKNOWN_OUTCOME : "waits for approval"}`
      : `${open.length} calls wait for approval (${open.map((a) => `${a.toolUseId} ${a.tool}`).join(", ")})`;
  const call = others.length === 0 ? "" : " --call ID";
  return `${what}: \`toren jobs approve ${runId}${call}\` or \`toren jobs deny ${runId}${call}\``;
}
