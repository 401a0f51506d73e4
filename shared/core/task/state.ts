// The state of a task, folded from its effective log event by event (I1). The fold mutates what it is given: a log of ten thousand steps is folded once
// at a resume, and a live step costs what is new in it.
import { hash } from "../digest.ts";
import type { Idempotency, TaskEvent } from "../events.ts";
import { canonical, type Json } from "../json.ts";
import { addUsage } from "../messages.ts";
import { answered, rewrite, summarised, tooLong } from "./answers.ts";
import { summaryMessage, withElided } from "./compaction.ts";
import { append, sealHistory } from "./header.ts";
import { type CallResult, resultsMessage } from "./history.ts";
import { entered } from "./ledger.ts";
import type { Call } from "./phase.ts";
import { heard, steer, turnOver } from "./session.ts";
import type { TaskState } from "./task-state.ts";

/** Folds one effective event at its place. `LlmCallStarted` is the caller's to check first: it holds the digest of what was asked. */
export function apply(state: TaskState, event: TaskEvent, seq: number): void {
  state.ledger = entered(state.ledger, event);
  switch (event.type) {
    case "TaskStarted":
      state.attempts = event.attempt;
      return;
    case "LlmCallStarted":
    case "LlmCallAccepted":
    case "LlmCallCompleted":
    case "LlmCallFailed":
      applyCall(state, event, seq);
      return;
    case "ToolCallStarted": {
      const key = callKey(event.tool, event.args);
      const call = callOf(state, event.toolUseId);
      if (call?.started == null) state.callCounts.set(key, (state.callCounts.get(key) ?? 0) + 1); // begun again it is the same call
      state.starts.set(event.idempotencyKey, (state.starts.get(event.idempotencyKey) ?? 0) + 1);
      if (event.effects === "external") state.external.add(event.toolUseId);
      if (call !== undefined)
        call.started = { idempotencyKey: event.idempotencyKey, effects: event.effects, idempotency: event.idempotency };
      return;
    }
    case "ToolCallCompleted":
      completed(state, event);
      return;
    case "TaskCompleted":
    case "TaskFailed":
    case "TaskCancelled":
      state.phase = { type: "ended" };
      return;
    case "ApprovalRequested": {
      state.asked.add(event.key);
      const call = callOf(state, event.toolUseId);
      if (call !== undefined) call.approval = { key: event.key, expiresAt: event.expiresAt ?? null };
      return;
    }
    case "ApprovalResolved": {
      const { granted, by, comment } = event;
      if (!state.decisions.has(event.key)) state.decisions.set(event.key, { granted, by, comment });
      return;
    }
    case "InputRequested":
      if (state.session !== null) state.session.shown = event.text;
      turnOver(state, seq);
      return;
    case "UserMessage":
      heard(state, event);
      return;
    case "CutDecided":
      if (event.decision === "keep") sealHistory(state.header, state.history, seq);
      return;
    case "ToolResultsElided":
      for (const id of event.toolUseIds) state.elided.add(id);
      rewrite(state, withElided(state.history.messages, state), seq);
      return;
    case "ContextCompacted": {
      const kept = state.history.messages.slice(event.folded);
      state.folds++;
      rewrite(state, [summaryMessage(event.summary), ...kept], seq);
      return;
    }
    case "FactIgnored":
    case "CutRequested":
    case "StreamInvalidated":
      return;
    default:
      event satisfies never;
  }
}

type CallEvent = TaskEvent & {
  readonly type: "LlmCallStarted" | "LlmCallAccepted" | "LlmCallCompleted" | "LlmCallFailed";
};

function applyCall(state: TaskState, event: CallEvent, seq: number): void {
  if (event.type === "LlmCallAccepted") {
    state.accepted = event.ref;
    return;
  }
  const { asking } = state;
  if (event.type !== "LlmCallFailed" || !event.goesOn) {
    state.accepted = null;
    state.asking = null;
  }
  if (event.type === "LlmCallStarted") {
    state.asking = { purpose: event.purpose, digest: event.requestDigest, seq }; // it may be under way: the phase stays `ask`
  } else if (event.type === "LlmCallFailed") {
    state.failures++;
    state.retryAt = event.retryAt ?? null;
    if (event.error.code === "context_exceeded") tooLong(state);
  } else {
    state.failures = 0;
    state.retryAt = null;
    state.usage = addUsage(state.usage, event.usage);
    if (asking?.purpose === "summary") summarised(state, asking.digest, event.response);
    else answered(state, event.response, event.usage);
  }
}

const callOf = (state: TaskState, toolUseId: string): Call | undefined =>
  state.phase.type === "tools" ? state.phase.calls.find((c) => c.use.id === toolUseId) : undefined;

function completed(state: TaskState, result: CallResult): void {
  const call = callOf(state, result.toolUseId);
  if (call === undefined || state.phase.type !== "tools") return;
  const { toolUseId, isError, media } = result;
  call.completed ??= { toolUseId, result: result.result, isError, ...(media === undefined ? {} : { media }) };
  const results = state.phase.calls.flatMap((c) => (c.completed === null ? [] : [c.completed]));
  if (results.length < state.phase.calls.length) return;
  append(state.header, state.history, resultsMessage(results)); // in call order, whatever the log's order (I4)
  state.phase = { type: "ask" };
  steer(state);
}

export const callKey = (tool: string, args: Json): string => hash(`${tool}\n${canonical(args)}`);

/** Stable through retries, resumes and cuts: the how-manieth effective call of this tool with these raw arguments in this task. */
export function idempotencyKey(runId: string, taskId: string, state: TaskState, tool: string, args: Json): string {
  const key = callKey(tool, args);
  return hash(`${runId}\n${taskId}\n${key}\n${state.callCounts.get(key) ?? 0}`);
}

/**
 * What a decision is bound to: the call by tool, arguments and how-manieth. A granted call without a key that has begun already, even in a cut part, is
 * another one to decide about: it would take effect again. So is an equal one that was asked about before and hasn't begun: it was denied, or is another
 * call of the same answer.
 */
export function approvalKey(state: TaskState, idempotencyKey: string, idempotency: Idempotency): string {
  const first = `approval\n${idempotencyKey}\n${idempotency === "keyed" ? 0 : (state.starts.get(idempotencyKey) ?? 0)}`;
  for (let n = 1; ; n++) {
    const key = hash(n === 1 ? first : `${first}\n${n}`);
    if (!state.asked.has(key)) return key;
  }
}
