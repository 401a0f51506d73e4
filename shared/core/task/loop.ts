// What a task does next: a pure decision on its state. The engine carries it out and records what came of it (engine/run-task.ts).
import type { Rates } from "../cost.ts";
import type { ErrorInfo } from "../errors.ts";
import type { Json } from "../json.ts";
import type { ModelRequest } from "../messages.ts";
import { type Shrink, shrink } from "./compaction.ts";
import { requestOf } from "./header.ts";
import { textOf } from "./history.ts";
import { type Amount, askedFor, type Budget, isCapped, type Ledger, overBudget, sum } from "./ledger.ts";
import type { Call, Verdict } from "./phase.ts";
import { pressure, tokensOfHeader, tokensOfMessages } from "./pressure.ts";
import { acceptedAs, requestDigest, stepIdOf, summaryIdOf, type TaskState } from "./task-state.ts";

export interface Caps {
  readonly maxSteps: number;
  /** Of this task over all its calls. */
  readonly budget: Budget;
  /** Of its run, kept beside the log: `reserve` is asked for there too. */
  readonly runBudget: Budget;
  /** What is known of the role's model. */
  readonly rates: Rates | null;
  readonly contextWindow: number | null;
}

export type Action =
  | Ask
  /** The conversation is made shorter: to be recorded. */
  | { readonly type: "record"; readonly event: (Shrink & { type: "record" })["event"] }
  | { readonly type: "tools"; readonly stepId: string; readonly calls: readonly Call[] }
  /** A session's turn is over: its answer is for a person. */
  | { readonly type: "show"; readonly text: string }
  /** A session waits for its user. */
  | { readonly type: "wait" }
  | { readonly type: "complete"; readonly result: Json; readonly truncated: boolean }
  | { readonly type: "fail"; readonly error: ErrorInfo }
  | { readonly type: "ended" };

export interface Ask {
  readonly type: "ask";
  readonly purpose: "step" | "summary";
  readonly stepId: string;
  readonly digest: string;
  readonly request: ModelRequest;
  /** What it may take at most; null: no budget is set. */
  readonly reserve: Amount | null;
}

export function nextAction(state: TaskState, caps: Caps): Action {
  const { phase } = state;
  switch (phase.type) {
    case "ended":
      return { type: "ended" };
    case "answered":
      return answered(state, phase.verdict);
    case "input": {
      const { session } = state;
      return session?.closing ? { type: "complete", result: session.shown, truncated: false } : { type: "wait" };
    }
    case "tools": // its step is the one that was answered
      return { type: "tools", stepId: `s${state.steps - 1}`, calls: phase.calls.filter((c) => c.completed === null) };
    case "ask":
      return nextQuestion(state, caps);
  }
}

/** A session shows its answer and goes on, until it was closed and nothing more was said to it. What it refuses is an answer too. */
function answered({ session }: TaskState, verdict: Verdict): Action {
  if (session !== null && verdict.type === "fail" && verdict.code === "model.refused")
    return { type: "show", text: verdict.message };
  if (verdict.type === "fail") return { type: "fail", error: { code: verdict.code, message: verdict.message } };
  const { result, truncated } = verdict;
  const over = session === null || (session.closing && session.mail.length + session.steering.length === 0);
  return over ? { type: "complete", result, truncated } : { type: "show", text: textOf(result) };
}

/** Room first, then money: what is asked is asked for only if it fits both. */
function nextQuestion(state: TaskState, caps: Caps): Action {
  const fail = (error: ErrorInfo): Action => ({ type: "fail", error });
  if (state.turnSteps >= caps.maxSteps) {
    const message = `No final answer after ${state.turnSteps} model calls, the role's maxSteps.`;
    return fail({ code: "max_steps", message });
  }
  const smaller = shrink(state, caps.contextWindow);
  if (smaller !== null && smaller.type !== "summarise") return smaller;
  const { header, history } = state;
  const ask: Omit<Ask, "reserve"> =
    smaller === null
      ? {
          type: "ask",
          purpose: "step",
          stepId: stepIdOf(state),
          digest: requestDigest(state),
          request: requestOf(header, history),
        }
      : {
          type: "ask",
          purpose: "summary",
          stepId: summaryIdOf(state),
          digest: smaller.digest,
          request: smaller.request,
        };
  if (!isCapped(caps.budget) && !isCapped(caps.runBudget)) return { ...ask, reserve: null };
  const dollarsMatter = caps.budget.maxCostUsd !== null || caps.runBudget.maxCostUsd !== null;
  if (dollarsMatter && caps.rates === null) return fail(priceUnknown(header.model));
  const input =
    smaller === null
      ? pressure(state.measured, history)
      : tokensOfHeader(header) + tokensOfMessages(ask.request.messages);
  const reserve = askedFor(input, ask.request.maxTokens, dollarsMatter ? caps.rates : null);
  if (acceptedAs(state, ask.digest) !== null) return { ...ask, reserve }; // reserved already, and only fetched
  const over = overBudget(caps.budget, spentSoFar(state.ledger), reserve, "the role's");
  return over === null ? { ...ask, reserve } : fail({ code: "budget_exhausted", message: over });
}

/** A call that was sent and never answered may have been paid. */
const spentSoFar = ({ spent, open }: Ledger): Amount => (open === null ? spent : sum(spent, open));

const priceUnknown = (model: string): ErrorInfo => ({
  code: "model.price_unknown",
  message: `maxCostUsd is set, and the price of ${model} is not known: set it in agent.yaml (models: { "${model}": { price: { input: …, output: … } } }, US dollars per million tokens), or cap totalTokens instead.`,
});
