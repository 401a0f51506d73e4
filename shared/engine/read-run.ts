// One run as people read it: its tree of waves and tasks, what it used and cost, and why it stands still if it does.
import type { ErrorInfo } from "../core/errors.ts";
import type { RawEvent } from "../core/events.ts";
import { type Accounts, accountsOf, totalAccounts } from "../core/receipt.ts";
import type { RunRow, StreamRow } from "../ports/store.ts";
import type { EngineDeps } from "./deps.ts";

export interface TaskView extends Accounts {
  readonly taskId: string;
  readonly role: string | null;
  readonly status: StreamRow["status"];
  readonly outcome: StreamRow["outcome"];
  readonly wait: StreamRow["wait"];
  readonly wakeAt: number | null;
  readonly problem: StreamRow["problem"];
}
export interface WaveView {
  readonly wave: number;
  readonly tasks: readonly TaskView[];
}
export interface RunView extends Accounts {
  readonly run: RunRow;
  readonly waves: readonly WaveView[];
  /** What the run's own stream waits for, and why a writer stepped back from it. */
  readonly wait: StreamRow["wait"];
  readonly problem: StreamRow["problem"];
  /** The first reason to look at: a failed run's error, a stream that waits for a decision, a writer that stepped back. */
  readonly reason: string | null;
}

type ReadDeps = Pick<EngineDeps, "store" | "models">;

export async function readRun(
  deps: ReadDeps,
  { agent, runId }: { agent: string; runId: string },
): Promise<RunView | null> {
  const [run, streams, calls] = await Promise.all([
    deps.store.runs.get(agent, runId),
    deps.store.runs.streams(agent, runId),
    deps.store.runs.callEvents(agent, runId),
  ]);
  if (run === null) return null;
  const events = Map.groupBy(calls, (c) => c.streamId);
  const view = (s: StreamRow): TaskView => {
    const own: RawEvent[] = (events.get(s.streamId) ?? []).map((c) => c.event);
    const accounts = accountsOf(own, (model) => deps.models.price(model));
    return {
      ...accounts,
      taskId: s.streamId.slice("task:".length),
      role: s.role,
      status: s.status,
      outcome: s.outcome,
      wait: s.wait,
      wakeAt: s.wakeAt,
      problem: s.problem,
    };
  };
  const tasks = streams.filter((s) => s.streamId !== "run");
  const waves = [...Map.groupBy(tasks, (s) => s.wave ?? -1)]
    .sort(([a], [b]) => a - b)
    .map(([wave, members]): WaveView => ({ wave, tasks: members.map(view).sort((a, b) => place(a) - place(b)) }));
  const own = streams.find((s) => s.streamId === "run");
  const total = totalAccounts(waves.flatMap((w) => w.tasks));
  return {
    ...total,
    run,
    waves,
    wait: own?.wait ?? null,
    problem: own?.problem ?? null,
    reason: reasonOf(run, streams, events),
  };
}

/** Task ids are `w<wave>t<n>`: by number, so that t10 stands after t9. */
const place = (t: TaskView): number => Number(/t(\d+)$/.exec(t.taskId)?.[1] ?? 0);

type CallEvents = ReadonlyMap<string, readonly { readonly event: RawEvent }[]>;

function reasonOf(run: RunRow, streams: readonly StreamRow[], events: CallEvents): string | null {
  if (run.error !== null) return said(run.error);
  const stepped = streams.find((s) => s.problem !== null);
  if (stepped?.problem) return `${stepped.streamId}: ${said(stepped.problem)}`;
  const cut = streams.find((s) => s.wait === "cut");
  return cut === undefined
    ? null
    : `${cut.streamId}: ${said(needsDecision(run.runId, events.get(cut.streamId) ?? []))}`;
}

const said = ({ code, message }: { readonly code: string; readonly message: string }): string => `${code}: ${message}`;

function needsDecision(runId: string, events: readonly { readonly event: RawEvent }[]): ErrorInfo {
  const asked = events.findLast(({ event }) => event.type === "CutRequested")?.event.payload.calls;
  const calls = Array.isArray(asked) && asked.length > 0 ? ` (${asked.join(", ")})` : "";
  return {
    code: "cut.needs_decision",
    message: `an edit would repeat a completed call that has effects outside${calls}; revert the edit and run \`toren jobs resume ${runId}\`, or cancel the run`,
  };
}
