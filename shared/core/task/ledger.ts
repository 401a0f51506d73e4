// What a task has spent, over its whole raw log: money that was paid stays paid when its answer is cut away. A call that was sent and never answered
// may have been paid too: when it is sent again, what was reserved for it counts as spent.
import { costOf, nanoUsd, type Rates, ratesFor, usdOf } from "../cost.ts";
import type { TaskEvent } from "../events.ts";
import { NO_USAGE, totalTokens } from "../messages.ts";

/** Tokens, and billionths of a US dollar. */
export interface Amount {
  readonly tokens: number;
  readonly nanoUsd: number;
}
export const NOTHING: Amount = { tokens: 0, nanoUsd: 0 };
export const sum = (a: Amount, b: Amount): Amount => ({ tokens: a.tokens + b.tokens, nanoUsd: a.nanoUsd + b.nanoUsd });

export interface Ledger {
  readonly spent: Amount;
  /** Reserved for the call that is under way, as far as the log tells; null: none is, or nothing was reserved. */
  readonly open: Amount | null;
}
export const EMPTY: Ledger = { spent: NOTHING, open: null };

export function entered(ledger: Ledger, event: TaskEvent): Ledger {
  switch (event.type) {
    case "LlmCallStarted": {
      const { reserve } = event;
      const open = reserve === undefined ? null : { tokens: reserve.tokens, nanoUsd: nanoUsd(reserve.usd ?? 0) };
      return { spent: ledger.open === null ? ledger.spent : sum(ledger.spent, ledger.open), open };
    }
    case "LlmCallCompleted":
    case "LlmCallFailed": {
      if (event.type === "LlmCallFailed" && event.goesOn) return ledger; // it will be paid
      const paid = { tokens: totalTokens(event.usage ?? NO_USAGE), nanoUsd: nanoUsd(event.cost?.usd ?? 0) };
      return { spent: sum(ledger.spent, paid), open: null };
    }
    case "StreamInvalidated":
      return ledger.open === null ? ledger : { ...ledger, open: null };
    default:
      return ledger;
  }
}

/** What a call may take at most: its input estimated high, at the dearest price of input, and every token that it may answer with. */
export function askedFor(inputTokens: number, maxTokens: number, rates: Rates | null): Amount {
  const usage = { input: inputTokens, cacheRead: 0, cacheWrite: 0, output: maxTokens, reasoning: 0 };
  const tokens = inputTokens + maxTokens;
  if (rates === null) return { tokens, nanoUsd: 0 };
  const own = ratesFor(inputTokens, rates);
  return { tokens, nanoUsd: nanoUsd(costOf(usage, { ...own, input: Math.max(own.input, own.cacheWrite) })) };
}

/** Upper bounds; null: none. */
export interface Budget {
  readonly totalTokens: number | null;
  readonly maxCostUsd: number | null;
}
export const NO_BUDGET: Budget = { totalTokens: null, maxCostUsd: null };
/** From a store's columns. */
export const budgetOf = (tokens: number | null, nano: number | null): Budget => ({
  totalTokens: tokens,
  maxCostUsd: nano === null ? null : usdOf(nano),
});
/** The tighter of the two, of each kind. */
export const lower = (a: Budget, b: Budget): Budget => ({
  totalTokens: smaller(a.totalTokens, b.totalTokens),
  maxCostUsd: smaller(a.maxCostUsd, b.maxCostUsd),
});
const smaller = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);
export const isCapped = (b: Budget): boolean => b.totalTokens !== null || b.maxCostUsd !== null;

/** Why `ask` doesn't fit beside what is spent; null: it fits. `whose`: "the task's", "the run's". */
export function overBudget(budget: Budget, spent: Amount, ask: Amount, whose: string): string | null {
  if (budget.totalTokens !== null && spent.tokens + ask.tokens > budget.totalTokens)
    return `${spent.tokens} tokens are spent, and the next call may take ${ask.tokens}: more than ${whose} totalTokens of ${budget.totalTokens}.`;
  if (budget.maxCostUsd !== null && spent.nanoUsd + ask.nanoUsd > nanoUsd(budget.maxCostUsd))
    return `${dollars(spent.nanoUsd)} are spent, and the next call may cost ${dollars(ask.nanoUsd)}: more than ${whose} maxCostUsd of ${budget.maxCostUsd}.`;
  return null;
}

/** Enough digits that a small amount isn't shown as nothing. */
const dollars = (nano: number): string => `$${usdOf(nano).toFixed(nano >= CENT ? 2 : 6)}`;
const CENT = 10_000_000;
