// What a question of the log was, whole: derived again by the fold that asked it, from the header of that time and the events before. For people to read.
import type { Recorded, TaskEvent } from "../events.ts";
import type { Json } from "../json.ts";
import type { ModelRequest } from "../messages.ts";
import { shrink } from "./compaction.ts";
import { type Header, requestOf } from "./header.ts";
import { outputCheck } from "./output.ts";
import { effectiveTask } from "./replay.ts";
import { apply } from "./state.ts";
import { initialState, requestDigest } from "./task-state.ts";

export type Asked = Recorded<TaskEvent> & { readonly type: "LlmCallStarted" };

export interface DerivedRequest {
  readonly request: ModelRequest;
  /** Its digest is the one on record: to the last character this is what was sent. */
  readonly exact: boolean;
}

export interface TaskFacts {
  readonly input: Json;
  readonly session: boolean;
  /** Of the role's model, in tokens, as it is known today: what a summary was asked of depends on it. */
  readonly contextWindow: number | null;
}

/** The digest of the header under which an event was written; null: no attempt had begun. */
export const headerDigestAt = (raw: readonly Recorded<TaskEvent>[], seq: number): string | null => {
  const started = raw.findLast((event) => event.type === "TaskStarted" && event.seq < seq);
  return started?.type === "TaskStarted" ? started.specDigest : null;
};

export const askedAt = (raw: readonly Recorded<TaskEvent>[], seq: number): Asked | null => {
  const event = raw.find((e) => e.seq === seq);
  return event?.type === "LlmCallStarted" ? event : null;
};

/** The question before it that was another one. The first one after a cut follows what it is asked in place of: so an edit shows for what it is. */
export function askedBefore(raw: readonly Recorded<TaskEvent>[], asked: Asked): Asked | null {
  const { seq, purpose, stepId, requestDigest } = asked;
  const others = raw.filter(
    (e): e is Asked =>
      e.type === "LlmCallStarted" && e.seq < seq && e.purpose === purpose && e.requestDigest !== requestDigest,
  );
  const cut = raw.findLast((e) => e.type === "StreamInvalidated" && e.seq < seq)?.seq ?? 0;
  const last = others.at(-1);
  if (last === undefined || last.seq > cut) return last ?? null;
  return others.findLast((e) => e.stepId === stepId) ?? last;
}

/** Null: it was a summary's question, and the state of then doesn't ask one by what is known today. */
export function requestAt(
  header: Header,
  raw: readonly Recorded<TaskEvent>[],
  asked: Asked,
  { input, session, contextWindow }: TaskFacts,
): DerivedRequest | null {
  const check = header.outputSchema === null ? null : outputCheck(header.outputSchema);
  const state = initialState(header, check, input, session);
  for (const event of effectiveTask(raw.filter((e) => e.seq < asked.seq))) apply(state, event, event.seq);
  if (asked.purpose === "summary") {
    const question = shrink(state, contextWindow);
    if (question?.type !== "summarise") return null;
    return { request: question.request, exact: question.digest === asked.requestDigest };
  }
  return { request: requestOf(header, state.history), exact: requestDigest(state) === asked.requestDigest };
}
