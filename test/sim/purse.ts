// Budgets as the append statement keeps them, in the store's twin for the simulation.
import { nanoUsd } from "../../shared/core/cost.ts";
import { type Amount, NOTHING, sum } from "../../shared/core/task/ledger.ts";
import type { Append, RunBudget } from "../../shared/ports/store.ts";
import type { Run, Stream, Transaction } from "./database.ts";

interface Item {
  readonly append: Append;
  readonly row: Stream;
}
interface Move {
  /** By how much what is reserved changes, and what is spent. */
  readonly reserve: Amount;
  readonly spend: Amount;
}

const minus = (a: Amount, b: Amount): Amount => ({ tokens: a.tokens - b.tokens, nanoUsd: a.nanoUsd - b.nanoUsd });
const positive = (a: Amount): Amount => ({ tokens: Math.max(0, a.tokens), nanoUsd: Math.max(0, a.nanoUsd) });

/** Null: nothing moves in the run's budget. */
function moveOf({ append: { purse, next }, row }: Item): Move | null {
  const ends = next.type === "end";
  if (purse === undefined && !(ends && (row.hold.tokens > 0 || row.hold.nanoUsd > 0))) return null;
  const hold = purse?.hold ?? NOTHING;
  const kept = purse?.keep === true ? row.hold : NOTHING;
  return { reserve: minus(hold, row.hold), spend: sum(purse?.spend ?? NOTHING, kept) };
}

const budgetOf = (tx: Transaction, item: Item): RunBudget | null => tx.db.rootOf(item.row.runId)?.record.budget ?? null;

const rootOf = (tx: Transaction, item: Item): string => tx.db.rootOf(item.row.runId)?.record.runId ?? item.row.runId;

/** Those whose reservation doesn't fit beside what is there, and what the items before them ask for, refused ones included. */
export async function poorOnes(tx: Transaction, items: readonly Item[]): Promise<Map<Append, Amount>> {
  const paying = items.filter((item) => moveOf(item) !== null);
  await tx.lock([...new Set(paying.map((item) => `budget ${rootOf(tx, item)}`))].sort());
  const asked = new Map<string, Amount>();
  const poor = new Map<Append, Amount>();
  for (const item of paying) {
    const budget = budgetOf(tx, item);
    const move = moveOf(item);
    if (budget === null || move === null) continue;
    const before = sum(asked.get(rootOf(tx, item)) ?? NOTHING, positive(sum(move.reserve, move.spend)));
    asked.set(rootOf(tx, item), before);
    if ((item.append.purse?.hold.tokens ?? 0) > 0 && passes(budget, sum(sum(budget.reserved, budget.spent), before)))
      poor.set(item.append, sum(budget.spent, move.spend));
  }
  return poor;
}

const passes = ({ totalTokens, maxCostUsd }: RunBudget, all: Amount): boolean =>
  (totalTokens !== null && all.tokens > totalTokens) || (maxCostUsd !== null && all.nanoUsd > nanoUsd(maxCostUsd));

export function payAll(tx: Transaction, items: readonly Item[]): void {
  for (const item of items) {
    const move = moveOf(item);
    if (move === null || budgetOf(tx, item) === null) continue;
    tx.write(() => {
      const run = tx.db.rootOf(item.row.runId) as Run;
      const { budget } = run.record;
      if (budget === null) return;
      const [reserved, spent] = [sum(budget.reserved, move.reserve), sum(budget.spent, move.spend)];
      run.record = { ...run.record, budget: { ...budget, reserved, spent } };
    });
  }
}
