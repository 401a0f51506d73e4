// A run's own log: operations and what ended them, and the waves' counts beside it.
import type { EventDump, RunDump, StreamDump } from "./log-checker.ts";

const isOperation = (e: EventDump): boolean => e.payload.after !== undefined;
const isEnding = (e: EventDump): boolean => /^Run(Completed|Failed|Cancelled)$/.test(e.type);

/** A cut removes operations and endings, and what happened to the former; facts stay. */
export function effectiveRun(events: readonly EventDump[]): EventDump[] {
  let kept: EventDump[] = [];
  for (const e of events) {
    if (e.type === "OperationReopened") {
      kept = reopened(kept, e);
      continue;
    }
    if (e.type !== "StreamInvalidated") {
      kept.push(e);
      continue;
    }
    const cut = kept.filter((k) => k.seq >= Number(e.payload.fromSeq) && (isOperation(k) || isEnding(k)));
    const dead = new Set<unknown>(cut.map((k) => k.seq));
    kept = kept.filter((k) => !dead.has(k.seq) && !dead.has(k.payload.op));
  }
  return kept;
}

/** What failed of the operation goes, and whatever was asked for in the window that its end had opened. */
function reopened(kept: readonly EventDump[], { payload }: EventDump): EventDump[] {
  const windows = new Set<unknown>([payload.op]);
  const dead = new Set<unknown>();
  for (const k of kept) {
    if (!isOperation(k) || !windows.has(k.payload.after)) continue;
    windows.add(k.seq);
    dead.add(k.seq);
  }
  const again = new Set(payload.tasks as number[]);
  return kept.filter((k) => {
    if (dead.has(k.seq) || dead.has(k.payload.op)) return false;
    return k.payload.op !== payload.op || (k.type === "TaskSettled" && !again.has(k.payload.task as number));
  });
}

const ENDS = new Set(["WaveSettled", "TimerFired", "StepCompleted", "StepFailed", "ChildEnded"]);

export function checkRun(run: RunDump, s: StreamDump): string[] {
  const wrong: string[] = [];
  if (s.events[0]?.type !== "RunCreated") wrong.push(`it begins with ${s.events[0]?.type}`);
  const events = effectiveRun(s.events);
  wrong.push(...checkDecisions(s.events));
  return [...wrong, ...checkOperations(events), ...checkWaves(run, s, events)];
}

/** I6b: what tasks of cut plans did is let be done again only where somebody decided so, about them. */
function checkDecisions(raw: readonly EventDump[]): string[] {
  const wrong: string[] = [];
  let asked: EventDump | null = null;
  let decided: unknown = null;
  for (const e of raw) {
    const { type, payload } = e;
    if (type === "CutRequested") [asked, decided] = [e, null];
    if (type !== "CutDecided" && type !== "TasksGivenUp") continue;
    const { tasks = [], standing = 0 } = (asked?.payload.instead ?? {}) as { tasks?: string[]; standing?: number };
    if (type === "CutDecided") {
      if (asked === null || decided !== null) wrong.push(`${e.seq}: a decision, and nothing was asked`);
      if (payload.decision === "keep" && standing === 0)
        wrong.push(`${e.seq}: kept, and nothing recorded could answer`);
      decided ??= payload.decision;
      continue;
    }
    if (decided !== "rerun") wrong.push(`${e.seq}: tasks are given up, and nobody decided so`);
    const unasked = (payload.tasks as string[]).filter((id) => !tasks.includes(id));
    if (unasked.length > 0) wrong.push(`${e.seq}: ${unasked[0]} is given up, and nobody was asked about it`);
  }
  return wrong;
}

/** At most one effective end per operation, and none without it. */
function checkOperations(events: readonly EventDump[]): string[] {
  const wrong: string[] = [];
  const operations = new Map<unknown, EventDump>();
  const over = new Set<unknown>();
  const settled = new Set<string>();
  for (const e of events) {
    const { op, after } = e.payload;
    if (after !== undefined) {
      if (after !== 0 && !operations.has(after))
        wrong.push(`${e.seq}: its window ${String(after)} was opened by no operation`);
      operations.set(e.seq, e);
    }
    if (op === undefined) continue;
    if (!operations.has(op)) wrong.push(`${e.seq}: ${e.type} of operation ${String(op)}, which isn't there`);
    if (e.type === "TaskSettled") {
      const place = `${String(op)} ${String(e.payload.task)}`;
      if (settled.has(place)) wrong.push(`${e.seq}: task ${place} settles twice`);
      settled.add(place);
    }
    if (!ENDS.has(e.type) || (e.type === "StepFailed" && e.payload.retryAt !== undefined)) continue;
    if (over.has(op)) wrong.push(`${e.seq}: operation ${String(op)} ends twice`);
    over.add(op);
  }
  return wrong;
}

/** The count of a wave that is still waited for, from the streams that it counts. */
function checkWaves(run: RunDump, own: StreamDump, events: readonly EventDump[]): string[] {
  if (own.status === "ended") return [];
  const over = new Set(events.filter((e) => ENDS.has(e.type)).map((e) => e.payload.op));
  return events.flatMap((plan) => {
    const { wave, tasks } = plan.payload as { wave: number; tasks: string[] };
    if (plan.type !== "WavePlanned" || tasks.length === 0) return [];
    const streams = tasks.map((id) => run.streams.find((s) => s.streamId === `task:${id}`));
    if (streams.some((s) => s === undefined)) return [`${plan.seq}: wave ${wave} has tasks without a stream`];
    const astray = streams.filter((s) => s?.wave !== wave);
    if (astray.length > 0) return [`${plan.seq}: wave ${wave} doesn't count ${astray[0]?.streamId}`];
    const row = run.waves.find((w) => w.wave === wave);
    if (row === undefined) return [`${plan.seq}: wave ${wave} has no row`];
    const open = streams.filter((s) => s?.status !== "ended").length;
    if (row.unsettled !== open) return [`wave ${wave} counts ${row.unsettled} tasks, ${open} are open`];
    if (!row.signalled && open === 0) return [`wave ${wave} is over and its run was not told`];
    const told =
      own.inbox.some((f) => f.key === `wave:${wave}` || f.key.startsWith(`wave:${wave}:`)) || over.has(plan.seq);
    const fresh = tasks.every((id) => id.startsWith(`w${wave}t`)); // one that claims decided tasks gets no fact
    return row.signalled && fresh && !told ? [`wave ${wave} is signalled, and its run was not told`] : [];
  });
}
