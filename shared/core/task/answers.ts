// The fold of a model's answer, and of what was done to make room for the next one.
import { PAUSES_MAX, WINDOW_SHRINKS_TO_PERCENT } from "../limits.ts";
import type { Message, ModelResponse, Usage } from "../messages.ts";
import { append, sealHistory } from "./header.ts";
import { answerMessage, answerText, feedbackMessage, toolUses } from "./history.ts";
import type { Verdict } from "./phase.ts";
import { estimated, measuredBy, pressure } from "./pressure.ts";
import type { TaskState } from "./task-state.ts";
import { outputFeedback } from "./texts.ts";
/**
 * The conversation as it is from here on. What it says now is a fact, by value: the chain of digests starts anew at this place, as after a sealed turn
 * (I6a), and every question before was held against today's code when the log was read.
 */
export function rewrite(state: TaskState, messages: readonly Message[], seq: number): void {
  const { header, history } = state;
  history.messages.length = 0;
  history.links.length = 0;
  history.sealed = 0;
  for (const message of messages) append(header, history, message);
  sealHistory(header, history, seq);
  state.measured = estimated(header);
}

/** The provider says that the request doesn't fit. */
export function tooLong(state: TaskState): void {
  const sent = Math.min(state.windowSeen ?? Infinity, pressure(state.measured, state.history));
  state.windowSeen = Math.floor((sent * WINDOW_SHRINKS_TO_PERCENT) / 100);
}

/** Calls and reasoning in such an answer are nobody's. */
export function summarised(state: TaskState, digest: string, response: Answer): void {
  state.summaryCalls++;
  for (const use of toolUses(response.content)) state.usedIds.add(use.id);
  if (response.stopReason === "contextExceeded") tooLong(state);
  else state.summaries.set(digest, summaryText(response));
}

/** A refusal is no summary. */
export const summaryText = (response: Answer): string =>
  response.stopReason === "refusal" ? "" : answerText(response.content);

type Answer = Omit<ModelResponse, "usage">;

export function answered(state: TaskState, response: Answer, spent: Usage): void {
  state.steps++;
  state.turnSteps++;
  const uses = toolUses(response.content);
  for (const use of uses) state.usedIds.add(use.id);
  if (response.stopReason === "contextExceeded") {
    tooLong(state); // half an answer: asked again when there is room
    return;
  }
  // Calls of an answer that was refused are never run: without results they would make the history illegal.
  const refused = response.stopReason === "refusal";
  const said = refused ? response.content.filter((part) => part.type !== "toolUse") : response.content;
  state.folds = 0;
  append(state.header, state.history, answerMessage(said));
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
  } else if (uses.length > 0 && !refused) {
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
