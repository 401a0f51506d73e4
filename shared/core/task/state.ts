// The state of a task, folded from its effective log event by event (I1). The fold mutates what it is given: a log of ten thousand steps is folded once
// at a resume, and a live step costs what is new in it.
import { hash } from "../digest.ts";
import type { Idempotency, TaskEvent } from "../events.ts";
import { canonical, type Json } from "../json.ts";
import { PAUSES_MAX, WINDOW_SHRINKS_TO_PERCENT } from "../limits.ts";
import type { Message, ModelResponse } from "../messages.ts";
import { addUsage, NO_USAGE, type Usage } from "../messages.ts";
import { summaryMessage, withElided } from "./compaction.ts";
import { append, emptyHistory, type Header, type History, linkOf, sealHistory } from "./header.ts";
import {
  answerMessage,
  answerText,
  type CallResult,
  feedbackMessage,
  inputMessage,
  resultsMessage,
  toolUses,
} from "./history.ts";
import { EMPTY, entered, type Ledger } from "./ledger.ts";
import type { OutputCheck } from "./output.ts";
import type { Call, Decision, Phase, Verdict } from "./phase.ts";
import { estimated, type Measured, measuredBy, pressure } from "./pressure.ts";
import { heard, newSession, type Session, steer, turnOver } from "./session.ts";
import { outputFeedback } from "./texts.ts";

export interface TaskState {
  readonly header: Header;
  readonly check: OutputCheck | null;
  readonly history: History;
  phase: Phase;
  /** Model calls answered, cut ones not counted: the next one is `s<steps>`. */
  steps: number;
  pauses: number;
  usage: Usage;
  /** Every tool use id of the raw log, cut parts included. */
  readonly usedIds: Set<string>;
  /** How many effective calls of equal tool and arguments there were: the idempotency key's last part. */
  readonly callCounts: Map<string, number>;
  /** Decisions of people by the key of what they decided; they outlive a cut. */
  readonly decisions: Map<string, Decision>;
  /** How often a call with this idempotency key was started, cut parts included. */
  readonly starts: Map<string, number>;
  readonly session: Session | null;
  /** Model calls answered in this turn: each turn has a fresh budget of steps. */
  turnSteps: number;
  /** Tries that failed since the last answer, and when the next one may begin. */
  failures: number;
  retryAt: number | null;
  /** Acquisitions that went live. */
  attempts: number;
  /** The question that the next answer belongs to. */
  asking: { readonly purpose: "step" | "summary"; readonly digest: string } | null;
  /** Under which name the provider has accepted it; null: it hasn't, or can't. */
  accepted: string | null;
  /** Answers about the conversation itself, by what was asked; cut ones too: the same question isn't paid twice (I5). */
  readonly summaries: Map<string, string>;
  /** How many of them there were. */
  summaryCalls: number;
  /** Calls whose results requests no longer hold. */
  readonly elided: Set<string>;
  measured: Measured;
  /** The window as a provider's refusals tell it, in tokens; null: it never refused. */
  windowSeen: number | null;
  ledger: Ledger;
}

export function initialState(header: Header, check: OutputCheck | null, input: Json, session = false): TaskState {
  const history = emptyHistory();
  append(header, history, inputMessage(input));
  return {
    header,
    check,
    history,
    phase: { type: "ask" },
    steps: 0,
    pauses: 0,
    usage: NO_USAGE,
    usedIds: new Set(),
    callCounts: new Map(),
    decisions: new Map(),
    starts: new Map(),
    session: session ? newSession() : null,
    turnSteps: 0,
    failures: 0,
    retryAt: null,
    attempts: 0,
    asking: null,
    accepted: null,
    summaries: new Map(),
    summaryCalls: 0,
    elided: new Set(),
    measured: estimated(header),
    windowSeen: null,
    ledger: EMPTY,
  };
}

export const stepIdOf = (state: TaskState): string => `s${state.steps}`;
/** Of the next question about the conversation itself. */
export const summaryIdOf = (state: TaskState): string => `c${state.summaryCalls}`;
export const requestDigest = (state: TaskState): string => linkOf(state.header, state.history);

/** Folds one effective event at its place. `LlmCallStarted` is the caller's to check first: it holds the digest of what was asked. */
export function apply(state: TaskState, event: TaskEvent, seq: number): void {
  state.ledger = entered(state.ledger, event);
  switch (event.type) {
    case "TaskStarted":
      state.attempts = event.attempt;
      return;
    case "LlmCallStarted": // the call may be under way: the phase stays `ask`
      state.asking = { purpose: event.purpose, digest: event.requestDigest };
      state.accepted = null;
      return;
    case "LlmCallAccepted":
      state.accepted = event.ref;
      return;
    case "LlmCallCompleted":
      state.failures = 0;
      state.retryAt = null;
      state.usage = addUsage(state.usage, event.usage);
      if (state.asking?.purpose === "summary") summarised(state, state.asking.digest, event.response);
      else answered(state, event.response, event.usage);
      state.asking = null;
      state.accepted = null;
      return;
    case "ToolCallStarted": {
      const key = callKey(event.tool, event.args);
      const call = callOf(state, event.toolUseId);
      if (call?.started == null) state.callCounts.set(key, (state.callCounts.get(key) ?? 0) + 1); // begun again it is the same call
      state.starts.set(event.idempotencyKey, (state.starts.get(event.idempotencyKey) ?? 0) + 1);
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
    case "LlmCallFailed":
      state.failures++;
      state.retryAt = event.retryAt ?? null;
      if (event.error.code === "context_exceeded") tooLong(state);
      state.asking = null;
      state.accepted = null;
      return;
    case "ToolResultsElided":
      for (const id of event.toolUseIds) state.elided.add(id);
      rewrite(state, withElided(state.history.messages, state.elided), seq);
      return;
    case "ContextCompacted": {
      const kept = state.history.messages.slice(event.folded);
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

/**
 * The conversation as it is from here on. What it says now is a fact, by value: the chain of digests starts anew at this place, as after a sealed turn
 * (I6a), and every question before was held against today's code when the log was read.
 */
function rewrite(state: TaskState, messages: readonly Message[], seq: number): void {
  const { header, history } = state;
  history.messages.length = 0;
  history.links.length = 0;
  history.sealed = 0;
  for (const message of messages) append(header, history, message);
  sealHistory(header, history, seq);
  state.measured = estimated(header);
}

/** The provider says that the request doesn't fit. */
function tooLong(state: TaskState): void {
  const sent = Math.min(state.windowSeen ?? Infinity, pressure(state.measured, state.history));
  state.windowSeen = Math.floor((sent * WINDOW_SHRINKS_TO_PERCENT) / 100);
}

/** Calls and reasoning in such an answer are nobody's. */
function summarised(state: TaskState, digest: string, response: Answer): void {
  state.summaryCalls++;
  for (const use of toolUses(response.content)) state.usedIds.add(use.id);
  if (response.stopReason === "contextExceeded") tooLong(state);
  else state.summaries.set(digest, summaryText(response));
}

/** A refusal is no summary. */
export const summaryText = (response: Answer): string =>
  response.stopReason === "refusal" ? "" : answerText(response.content);

type Answer = Omit<ModelResponse, "usage">;

function answered(state: TaskState, response: Answer, spent: Usage): void {
  state.steps++;
  state.turnSteps++;
  const uses = toolUses(response.content);
  for (const use of uses) state.usedIds.add(use.id);
  if (response.stopReason === "contextExceeded") return tooLong(state); // half an answer: asked again when there is room
  append(state.header, state.history, answerMessage(response.content));
  state.measured = measuredBy(state.measured, spent, state.history);
  const paused = response.stopReason === "pause" && uses.length === 0; // a call needs its result before anything else is said
  state.pauses = paused ? state.pauses + 1 : 0;
  if (paused) {
    state.phase =
      state.pauses > PAUSES_MAX
        ? {
            type: "answered",
            verdict: failed("model.paused_too_often", `The model paused its turn ${state.pauses} times in a row.`),
          }
        : { type: "ask" };
  } else if (uses.length > 0 && response.stopReason !== "refusal") {
    const cut = response.stopReason === "maxTokens";
    state.phase = {
      type: "tools",
      calls: uses.map((use, i) => ({
        use,
        place: i,
        cut: cut && i === uses.length - 1,
        approval: null,
        started: null,
        completed: null,
      })),
    };
  } else {
    const verdict = judge(state, response);
    state.phase = verdict === null ? { type: "ask" } : { type: "answered", verdict };
  }
}

/** A final answer: what becomes of the task. Null: a wrong output, answered with feedback; the loop goes on. */
function judge(state: TaskState, response: Answer): Verdict | null {
  const text = answerText(response.content);
  const empty = text.trim() === "";
  const truncated = response.stopReason === "maxTokens";
  if (response.stopReason === "refusal")
    return failed("model.refused", empty ? "The model refused to answer." : `The model refused: ${text}`);
  if (truncated && empty)
    return failed("output_exhausted", "The model used all its tokens without a word of an answer: raise maxTokens.");
  if (state.check === null) return { type: "complete", result: text, truncated };
  const verdict = state.check(text);
  if (verdict.ok) return { type: "complete", result: verdict.value, truncated };
  append(state.header, state.history, feedbackMessage(outputFeedback(verdict.problems)));
  return null;
}

const failed = (code: (Verdict & { type: "fail" })["code"], message: string): Verdict => ({
  type: "fail",
  code,
  message,
});

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
 * another one to decide about: it would take effect again.
 */
export const approvalKey = (state: TaskState, idempotencyKey: string, idempotency: Idempotency): string =>
  hash(`approval\n${idempotencyKey}\n${idempotency === "keyed" ? 0 : (state.starts.get(idempotencyKey) ?? 0)}`);
