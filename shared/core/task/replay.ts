// The fold of a task's log into its state, checked against today's code (I1, I6). The fold mutates the state that it is given: a log of ten thousand
// steps is folded once at a resume, and a live step costs what is new in it.
import { hash } from "../digest.ts";
import { type Effects, type Idempotency, type Recorded, type TaskEvent, TERMINAL } from "../events.ts";
import { canonical, type Json } from "../json.ts";
import { PAUSES_MAX } from "../limits.ts";
import type { ModelResponse, ToolUsePart } from "../messages.ts";
import { addUsage, NO_USAGE, totalTokens, type Usage } from "../messages.ts";
import { append, changedParts, type Header, type History, linkOf } from "./header.ts";
import {
  answerMessage,
  answerText,
  type CallResult,
  feedbackMessage,
  inputMessage,
  resultsMessage,
  toolUses,
} from "./history.ts";
import type { OutputCheck } from "./output.ts";
import { outputFeedback } from "./texts.ts";

export interface Call {
  readonly use: ToolUsePart;
  /** The answer ended at its token limit: the last call may be cut. */
  readonly cut: boolean;
  started: { readonly idempotencyKey: string; readonly effects: Effects; readonly idempotency: Idempotency } | null;
  completed: CallResult | null;
}

export type Verdict =
  | { readonly type: "complete"; readonly result: Json; readonly truncated: boolean }
  | {
      readonly type: "fail";
      readonly code: "model.refused" | "output_exhausted" | "context_exceeded" | "model.paused_too_often";
      readonly message: string;
    };

/** Where the loop stands. */
export type Phase =
  | { readonly type: "ask" } //        the next thing is a model call
  | { readonly type: "tools"; readonly calls: Call[] } // the answer's calls run
  | { readonly type: "answered"; readonly verdict: Verdict }
  | { readonly type: "ended" };

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
  /** Acquisitions that went live. */
  attempts: number;
}

export function initialState(header: Header, check: OutputCheck | null, input: Json): TaskState {
  const history: History = { messages: [], links: [] };
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
    attempts: 0,
  };
}

export const stepIdOf = (state: TaskState): string => `s${state.steps}`;
export const requestDigest = (state: TaskState): string => linkOf(state.header, state.history);
export const spentTokens = (state: TaskState): number => totalTokens(state.usage);

/** Folds one effective event. `LlmCallStarted` is the caller's to check first: it holds the digest of what was asked. */
export function apply(state: TaskState, event: TaskEvent): void {
  switch (event.type) {
    case "TaskStarted":
      state.attempts = event.attempt;
      return;
    case "LlmCallCompleted":
      answered(state, event.response, event.usage);
      return;
    case "ToolCallStarted": {
      const key = callKey(event.tool, event.args);
      state.callCounts.set(key, (state.callCounts.get(key) ?? 0) + 1);
      const call = callOf(state, event.toolUseId);
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
    case "LlmCallStarted": // the call may be under way: the phase stays `ask`
    case "LlmCallFailed":
    case "FactIgnored":
    case "CutRequested":
    case "StreamInvalidated":
      return;
    default:
      event satisfies never;
  }
}

function answered(state: TaskState, response: Omit<ModelResponse, "usage">, spent: Usage): void {
  state.steps++;
  state.usage = addUsage(state.usage, spent);
  const uses = toolUses(response.content);
  for (const use of uses) state.usedIds.add(use.id);
  append(state.header, state.history, answerMessage(response.content));
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
  } else if (uses.length > 0 && response.stopReason !== "refusal" && response.stopReason !== "contextExceeded") {
    const cut = response.stopReason === "maxTokens";
    state.phase = {
      type: "tools",
      calls: uses.map((use, i) => ({ use, cut: cut && i === uses.length - 1, started: null, completed: null })),
    };
  } else {
    const verdict = judge(state, response);
    state.phase = verdict === null ? { type: "ask" } : { type: "answered", verdict };
  }
}

/** A final answer: what becomes of the task. Null: a wrong output, answered with feedback; the loop goes on. */
function judge(state: TaskState, response: Omit<ModelResponse, "usage">): Verdict | null {
  const text = answerText(response.content);
  const empty = text.trim() === "";
  const truncated = response.stopReason === "maxTokens";
  if (response.stopReason === "refusal")
    return failed("model.refused", empty ? "The model refused to answer." : `The model refused: ${text}`);
  if (response.stopReason === "contextExceeded")
    return failed("context_exceeded", "The conversation no longer fits the model's context window.");
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
  call.completed ??= { toolUseId: result.toolUseId, result: result.result, isError: result.isError };
  const results = state.phase.calls.flatMap((c) => (c.completed === null ? [] : [c.completed]));
  if (results.length < state.phase.calls.length) return;
  append(state.header, state.history, resultsMessage(results)); // in call order, whatever the log's order (I4)
  state.phase = { type: "ask" };
}

export const callKey = (tool: string, args: Json): string => hash(`${tool}\n${canonical(args)}`);

/** Stable through retries, resumes and cuts: the how-manieth effective call of this tool with these raw arguments in this task. */
export function idempotencyKey(runId: string, taskId: string, state: TaskState, tool: string, args: Json): string {
  const key = callKey(tool, args);
  return hash(`${runId}\n${taskId}\n${key}\n${state.callCounts.get(key) ?? 0}`);
}

/** The log without what was cut; what absorbed a fact from outside stays (I6). */
export function effectiveTask(raw: readonly Recorded<TaskEvent>[]): Recorded<TaskEvent>[] {
  let log: Recorded<TaskEvent>[] = [];
  for (const event of raw) {
    if (event.type === "StreamInvalidated")
      log = log.filter((e) => e.seq < event.fromSeq || ("inboxSeq" in e && !TERMINAL.has(e.type)));
    else log.push(event);
  }
  return log;
}

export type Replayed =
  | { readonly type: "ok"; readonly state: TaskState }
  /** The log holds a question that today's code doesn't ask there (I6). `calls`: completed ones that a cut would silently repeat (I6b). */
  | { readonly type: "mismatch"; readonly fromSeq: number; readonly reason: string; readonly calls: readonly string[] };

export function replay(
  header: Header,
  check: OutputCheck | null,
  input: Json,
  raw: readonly Recorded<TaskEvent>[],
): Replayed {
  const state = initialState(header, check, input);
  const log = effectiveTask(raw);
  let parts: Readonly<Record<string, string>> = header.parts;
  for (const event of log) {
    if (event.type === "TaskStarted") parts = event.parts;
    if (
      event.type === "LlmCallStarted" &&
      (state.phase.type !== "ask" || event.stepId !== stepIdOf(state) || event.requestDigest !== requestDigest(state))
    ) {
      return {
        type: "mismatch",
        fromSeq: event.seq,
        reason: reasonOf(event.stepId, parts, header),
        calls: unrepeatable(log, event.seq),
      };
    }
    apply(state, event);
  }
  for (const event of raw)
    if (event.type === "LlmCallCompleted")
      for (const use of toolUses(event.response.content)) state.usedIds.add(use.id);
  return { type: "ok", state };
}

function reasonOf(stepId: string, before: Readonly<Record<string, string>>, header: Header): string {
  const changed = changedParts(before, header.parts);
  return changed.length === 0
    ? `the messages of step ${stepId} differ`
    : `${changed.join(", ")} changed, seen at step ${stepId}`;
}

function unrepeatable(log: readonly Recorded<TaskEvent>[], fromSeq: number): string[] {
  const started = new Map<string, string>();
  const calls: string[] = [];
  for (const event of log) {
    if (event.seq < fromSeq) continue;
    if (event.type === "ToolCallStarted" && event.effects === "external" && event.idempotency === "none")
      started.set(event.toolUseId, event.tool);
    if (event.type === "ToolCallCompleted" && started.has(event.toolUseId))
      calls.push(started.get(event.toolUseId) as string);
  }
  return calls;
}
