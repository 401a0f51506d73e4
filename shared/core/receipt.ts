// What a run's model calls came to: usage, cost, and the receipt of what was replayed instead of paid (I5). A fold of call events, response-free.
import { NANO_PER_USD, usdOf } from "./cost.ts";
import { type RawEvent, TERMINAL } from "./events.ts";
import { addUsage, NO_USAGE, totalTokens, type Usage } from "./messages.ts";

export interface Receipt {
  /** Answers on record, each paid once. */
  readonly modelCalls: number;
  /** Recorded answers that a resumed task used again instead of asking. */
  readonly replayed: number;
  /** Answers that were paid although one to the same question stood at the same place: must be 0. */
  readonly repaid: number;
  /** Questions that went out and whose answer was never recorded, because the worker died or the try failed. */
  readonly unanswered: number;
  readonly savedTokens: number;
  /** Null: a price is unknown. */
  readonly savedUsd: number | null;
}

export interface Cost {
  readonly usage: Usage;
  /** Null: the price of a model in it is unknown. */
  readonly costUsd: number | null;
  /** True when a price in it is made up (scripted and rule-based models). */
  readonly simulated: boolean;
}

export interface Accounts extends Cost {
  readonly receipt: Receipt;
}

const NOTHING: Accounts = {
  usage: NO_USAGE,
  costUsd: 0,
  simulated: false,
  receipt: { modelCalls: 0, replayed: 0, repaid: 0, unanswered: 0, savedTokens: 0, savedUsd: 0 },
};
/** In whole billionths, so that a thousand cents are ten dollars. */
const plus = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? null : usdOf(Math.round(a * NANO_PER_USD) + Math.round(b * NANO_PER_USD));

export function addAccounts(a: Accounts, b: Accounts): Accounts {
  const [r, s] = [a.receipt, b.receipt];
  return {
    usage: addUsage(a.usage, b.usage),
    costUsd: plus(a.costUsd, b.costUsd),
    simulated: a.simulated || b.simulated,
    receipt: {
      modelCalls: r.modelCalls + s.modelCalls,
      replayed: r.replayed + s.replayed,
      repaid: r.repaid + s.repaid,
      unanswered: r.unanswered + s.unanswered,
      savedTokens: r.savedTokens + s.savedTokens,
      savedUsd: plus(r.savedUsd, s.savedUsd),
    },
  };
}

export const totalAccounts = (all: Iterable<Accounts>): Accounts => [...all].reduce(addAccounts, NOTHING);

interface Answer {
  readonly seq: number;
  readonly place: string;
  readonly usage: Usage;
  readonly usd: number | null;
}

/** The accounts of one stream, from its raw events in order. Answers up to `copied` were paid by the run that it was forked from. */
export function accountsOf(events: readonly RawEvent[], copied = 0): Accounts {
  let effective: Answer[] = [];
  let accounts = NOTHING;
  let asked: { stepId: string; digest: string } | null = null;
  let starts = 0;
  const paid = new Set<string>();
  let own = copied === 0;
  for (const { type, payload, seq } of events) {
    if (!own && seq > copied) [own, accounts, asked] = [true, NOTHING, null];
    if (type === "LlmCallStarted") {
      if (asked !== null) accounts = addAccounts(accounts, count({ unanswered: 1 })); // the one before never ended
      asked = { stepId: String(payload.stepId), digest: String(payload.requestDigest) };
    } else if ((type === "LlmCallFailed" && payload.goesOn !== true) || (TERMINAL.has(type) && asked !== null)) {
      asked = null; // a task that ends with a question open was cancelled, or died too often
      accounts = addAccounts(accounts, { ...count({ unanswered: 1 }), ...spentOf(payload) });
    } else if (type === "LlmCallCompleted" && asked !== null) {
      const cost = spentOf(payload);
      const place = `${asked.stepId} ${asked.digest}`;
      const again = paid.has(place);
      paid.add(place);
      effective.push({ seq, place, usage: cost.usage, usd: cost.costUsd });
      accounts = addAccounts(accounts, { ...count({ modelCalls: 1, repaid: again ? 1 : 0 }), ...cost });
      asked = null;
    } else if (type === "TaskStarted" && starts++ > 0) {
      accounts = replayed(effective, accounts);
    } else if (type === "InputRequested") {
      effective = []; // sealed (I6a): what was shown is read as history, and no later wake uses it in place of a question
    } else if (type === "StreamInvalidated") {
      const cut = effective.filter((a) => a.seq >= Number(payload.fromSeq));
      if (payload.retry !== undefined) for (const { place } of cut) paid.delete(place); // somebody had it asked again
      effective = effective.filter((a) => a.seq < Number(payload.fromSeq));
    }
  }
  return own ? accounts : replayed(effective, NOTHING);
}

/** What an event says that was spent; a failed call of which the provider said nothing cost nothing that is known. */
function spentOf({ usage, cost }: RawEvent["payload"]): Cost {
  if (usage === undefined) return { usage: NO_USAGE, costUsd: 0, simulated: false };
  const { usd = null, simulated = false } = (cost ?? {}) as { readonly usd?: number; readonly simulated?: boolean };
  return { usage: usage as Usage, costUsd: usd, simulated };
}

const replayed = (answers: readonly Answer[], before: Accounts): Accounts =>
  answers.reduce(
    (sum, { usage, usd }) => addAccounts(sum, count({ replayed: 1, savedTokens: totalTokens(usage), savedUsd: usd })),
    before,
  );

const count = (receipt: Partial<Receipt>): Accounts => ({ ...NOTHING, receipt: { ...NOTHING.receipt, ...receipt } });
