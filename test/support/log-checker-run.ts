// A run's own log: operations and what ended them, and the waves' counts beside it.
import type { EventDump, RunDump, StreamDump } from "./log-checker.ts";

const isOperation = (e: EventDump): boolean => e.payload.after !== undefined;
const isEnding = (e: EventDump): boolean => /^Run(Completed|Failed|Cancelled)$/.test(e.type);

/** A cut removes operations and endings, and what happened to the former; facts stay. */
export function effectiveRun(events: readonly EventDump[]): EventDump[] {
  let kept: EventDump[] = [];
  for (const e of events) {
    if (e.type === "RunContinued") {
      kept = [e];
      continue;
    }
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
  return [
    ...wrong,
    ...checkParts(run, s),
    ...parts(s.events).flatMap((part) => checkOperations(effectiveRun(part))),
    ...checkWaves(run, s, events),
  ];
}

/** Each is executed by itself. */
const parts = (events: readonly EventDump[]): EventDump[][] => {
  const begun = [0, ...events.flatMap((e, i) => (e.type === "RunContinued" ? [i] : []))];
  return begun.map((from, k) => events.slice(from, begun[k + 1]));
};

const isTold = (s: StreamDump): boolean => s.status === "ended" || s.inbox.some((f) => f.payload.kind === "cancel");

/** What a run went on with says all that counts of what stood before it, and nothing of that is touched again. */
function checkParts(run: RunDump, { events, sealedSeq, sealedFacts }: StreamDump): string[] {
  const wrong: string[] = [];
  const begun = events.filter((e) => e.type === "RunContinued");
  const last = begun.at(-1);
  const { absorbed = 0, nextWave = 0 } = (last?.payload ?? {}) as { absorbed?: number; nextWave?: number };
  if (sealedSeq !== (last?.seq ?? 1) - 1)
    wrong.push(`${sealedSeq} events are sealed, its last part begins at ${last?.seq ?? 1}`);
  if (sealedFacts !== absorbed) wrong.push(`${sealedFacts} facts are sealed, its last part says ${absorbed}`);
  const keys = new Map<unknown, number>();
  let [part, facts, waves] = [0, 0, 0];
  const signals = new Set<unknown>();
  for (const e of events) {
    const { payload } = e;
    if (payload.inboxSeq !== undefined) facts = Number(payload.inboxSeq);
    if (e.type === "SignalReceived") signals.add(payload.inboxSeq);
    if (e.type === "WavePlanned") waves = Math.max(waves, Number(payload.wave) + 1);
    if (e.type === "StepStarted") {
      if ((keys.get(payload.idempotencyKey) ?? part) !== part)
        wrong.push(`${e.seq}: a step has the key of one of an earlier part`);
      keys.set(payload.idempotencyKey, part);
    }
    if (e.type === "StreamInvalidated" && Number(payload.fromSeq) <= (begun[part - 1]?.seq ?? 0))
      wrong.push(`${e.seq}: cuts what is sealed`);
    if (e.type !== "RunContinued") continue;
    part++;
    if (payload.part !== part) wrong.push(`${e.seq}: it says that it is part ${String(payload.part)}, it is ${part}`);
    if (payload.absorbed !== facts)
      wrong.push(`${e.seq}: ${facts} facts were absorbed, it says ${String(payload.absorbed)}`);
    if (payload.nextWave !== waves) wrong.push(`${e.seq}: wave ${waves} is next, it says ${String(payload.nextWave)}`);
    if (!Array.isArray(payload.signals)) continue; // a blob
    const kept = (payload.signals as { inboxSeq: number }[]).map((s) => s.inboxSeq);
    if (kept.some((seq, i) => !signals.has(seq) || seq <= (kept[i - 1] ?? 0)))
      wrong.push(`${e.seq}: it keeps signals ${kept.join(" ")}`);
    signals.clear();
    for (const seq of kept) signals.add(seq);
  }
  const before = run.streams.filter(
    (s) => s.streamId !== "run" && Number(/^task:w(\d+)t/.exec(s.streamId)?.[1]) < nextWave,
  );
  const untold = before.filter((s) => !isTold(s));
  return [...wrong, ...untold.map((s) => `${s.streamId} is of an earlier part, and wasn't told to stop`)];
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
