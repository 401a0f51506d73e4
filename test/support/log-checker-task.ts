// A task's log: what must stand before what (I4), and what may stand only once (I5, I6).
import type { EventDump, StreamDump } from "./log-checker.ts";

/** The log without what was cut; what absorbed a fact stays. */
export function effectiveEvents(events: readonly EventDump[]): EventDump[] {
  let kept: EventDump[] = [];
  for (const e of events) {
    if (e.type !== "StreamInvalidated") kept.push(e);
    else kept = kept.filter((k) => k.seq < Number(e.payload.fromSeq) || k.payload.inboxSeq !== undefined);
  }
  return kept;
}

const usesOf = (e: EventDump): string[] => {
  const { content = [] } = (e.payload.response ?? {}) as { content?: { type: string; id?: string }[] };
  return content.flatMap((part) => (part.type === "toolUse" && part.id !== undefined ? [part.id] : []));
};

export function checkTask(s: StreamDump, wavering: boolean): string[] {
  const paid = wavering ? [] : checkPaid(s.events);
  const effective = effectiveEvents(s.events);
  return [
    ...checkCalls(effective),
    ...checkAllowed(effective),
    ...checkCuts(s.events),
    ...paid,
    ...checkStarts(s.events),
  ];
}

/** In the effective log: one answer a question, one result a call, nothing before its cause. */
function checkCalls(events: readonly EventDump[]): string[] {
  const wrong: string[] = [];
  let asked: string | null = null;
  const answers = new Set<string>();
  const offered = new Set<string>();
  const started = new Map<string, number>();
  const results = new Set<string>();
  /** Calls whose outcome is unknown, by the key of the decision about them; and how often each may begin. */
  const unknown = new Map<unknown, string>();
  const allowed = new Map<string, number>();
  for (const { type, payload, ...e } of events) {
    const step = String(payload.stepId);
    const use = String(payload.toolUseId);
    if (type === "LlmCallStarted") {
      if (answers.has(step)) wrong.push(`${e.seq}: step ${step} is asked again after its answer`);
      asked = step;
    } else if (type === "LlmCallFailed") {
      if (asked !== step) wrong.push(`${e.seq}: step ${step} failed without having started`);
      if (payload.goesOn !== true) asked = null;
    } else if (type === "LlmCallCompleted") {
      if (asked !== step) wrong.push(`${e.seq}: step ${step} is answered without having started`);
      if (answers.has(step)) wrong.push(`${e.seq}: step ${step} is answered twice`);
      answers.add(step);
      asked = null;
      for (const id of usesOf({ ...e, type, payload })) {
        if (offered.has(id)) wrong.push(`${e.seq}: two calls have the id ${id}`);
        offered.add(id);
      }
    } else if (type === "ToolCallStarted") {
      if (!answers.has(step) || !offered.has(use))
        wrong.push(`${e.seq}: call ${use} starts before its answer is recorded`);
      if (results.has(use)) wrong.push(`${e.seq}: call ${use} starts after its result`);
      const starts = (started.get(use) ?? 0) + 1;
      if (starts > (allowed.get(use) ?? 1)) wrong.push(`${e.seq}: call ${use} starts ${starts} times`);
      started.set(use, starts);
    } else if (type === "ApprovalRequested" && payload.reason === "unknownOutcome") {
      if (!started.has(use)) wrong.push(`${e.seq}: call ${use} has an unknown outcome and never began`);
      if (results.has(use)) wrong.push(`${e.seq}: call ${use} has an unknown outcome and a result`);
      unknown.set(payload.key, use);
    } else if (type === "ApprovalResolved" && unknown.has(payload.key)) {
      const call = unknown.get(payload.key) as string;
      if (payload.granted === true) allowed.set(call, (allowed.get(call) ?? 1) + 1);
      unknown.delete(payload.key); // the first decision holds
    } else if (type === "ToolCallCompleted") {
      if (!offered.has(use)) wrong.push(`${e.seq}: call ${use} ends before its answer is recorded`);
      if (results.has(use)) wrong.push(`${e.seq}: call ${use} ends twice`);
      if (!started.has(use) && payload.isError !== true)
        wrong.push(`${e.seq}: call ${use} ends without having started`);
      results.add(use);
    } else if (type === "TaskCompleted" && [...offered].some((id) => !results.has(id)))
      wrong.push(`${e.seq}: the task completes with an open call`);
  }
  return wrong;
}

/** A call that somebody has to allow begins after the first decision about it, if that allows it. */
function checkAllowed(events: readonly EventDump[]): string[] {
  const keys = new Map<unknown, unknown>();
  const decided = new Map<unknown, unknown>();
  return events.flatMap(({ seq, type, payload }) => {
    if (type === "ApprovalRequested" && payload.reason === undefined) keys.set(payload.toolUseId, payload.key);
    if (type === "ApprovalResolved" && !decided.has(payload.key)) decided.set(payload.key, payload.granted);
    if (type !== "ToolCallStarted" || !keys.has(payload.toolUseId)) return [];
    const allowed = decided.get(keys.get(payload.toolUseId)) === true;
    return allowed ? [] : [`${seq}: call ${String(payload.toolUseId)} starts, and nobody allowed it`];
  });
}

/** I6a: what a person was shown is never cut. I6b: neither is a completed call that can't be repeated, unless somebody decided so about this cut. */
function checkCuts(raw: readonly EventDump[]): string[] {
  const wrong: string[] = [];
  let asked: EventDump | null = null;
  let decided: unknown = null;
  for (const [i, { seq, type, payload }] of raw.entries()) {
    if (type === "CutRequested") [asked, decided] = [raw[i] as EventDump, null];
    if (type === "CutDecided") decided ??= payload.decision;
    if (type !== "StreamInvalidated") continue;
    const cut = effectiveEvents(raw.slice(0, i)).filter((e) => e.seq >= Number(payload.fromSeq));
    const shown = cut.find((e) => e.type === "InputRequested");
    if (shown !== undefined) wrong.push(`${seq}: the turn that was shown at ${shown.seq} is cut`);
    const done = new Set(cut.flatMap((e) => (e.type === "ToolCallCompleted" ? [e.payload.toolUseId] : [])));
    const repeated = cut.find(
      (e) => e.type === "ToolCallStarted" && isUnrepeatable(e) && done.has(e.payload.toolUseId),
    );
    const allowed = decided === "rerun" && asked?.payload.fromSeq === payload.fromSeq;
    if (repeated !== undefined && !allowed)
      wrong.push(`${seq}: ${String(repeated.payload.tool)} is cut, to be done again, and nobody decided so`);
  }
  return wrong;
}
const isUnrepeatable = ({ payload }: EventDump): boolean =>
  payload.effects === "external" && payload.idempotency === "none";

/** In the raw log: no answer was paid for that stood there already, at the same place, to the same question (I5). */
function checkPaid(events: readonly EventDump[]): string[] {
  const wrong: string[] = [];
  const paid = new Set<string>();
  let asked = "";
  for (const [i, { seq, type, payload }] of events.entries()) {
    if (type === "StreamInvalidated" && payload.retry !== undefined) {
      // A refusal is asked for again: at most the last answer of what is cut.
      const cut = effectiveEvents(events.slice(0, i)).filter((e) => e.seq >= Number(payload.fromSeq));
      const questions = cut.filter((e) => e.type === "LlmCallStarted");
      if (cut.filter((e) => e.type === "LlmCallCompleted").length > 1)
        wrong.push(`${seq}: a retry cuts several answers`);
      for (const q of questions) paid.delete(`${String(q.payload.stepId)} ${String(q.payload.requestDigest)}`);
    }
    if (type === "LlmCallStarted") asked = `${String(payload.stepId)} ${String(payload.requestDigest)}`;
    if (type !== "LlmCallCompleted") continue;
    if (paid.has(asked)) wrong.push(`${seq}: ${asked} was paid for again`);
    paid.add(asked);
  }
  return wrong;
}

/** Attempts are counted from 1. */
function checkStarts(events: readonly EventDump[]): string[] {
  const attempts = events.filter((e) => e.type === "TaskStarted").map((e) => Number(e.payload.attempt));
  return attempts.some((attempt, i) => attempt !== i + 1) ? [`attempts are ${attempts.join(" ")}`] : [];
}
