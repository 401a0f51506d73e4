// What an append adds to its stream's counts: nine numbers, in the order in which the append statements take them. They are sums of the log, so that lists,
// the overview and metrics needn't read it.

import { nanoUsd } from "../../core/cost.ts";
import type { Usage } from "../../core/messages.ts";
import type { Append, NewEvent } from "../../ports/store.ts";

interface Answered {
  readonly usage?: Usage;
  readonly cost?: { readonly usd: number; readonly simulated: boolean };
}

/** Calls, tokens in, tokens out, nano dollars, answers and paid failures without a price, simulated ones, failed calls, cuts, replays. */
export type Tally = readonly [number, number, number, number, number, number, number, number, number];
const ZERO: Tally = [0, 0, 0, 0, 0, 0, 0, 0, 0];

export function tallyOf({ events, replayed = 0 }: Pick<Append, "events" | "replayed">): Tally {
  const [calls, tokensIn, tokensOut, nano, unpriced, simulated] = events.reduce(answered, ZERO);
  const count = (type: string): number => events.filter((event) => event.type === type).length;
  return [
    calls,
    tokensIn,
    tokensOut,
    nano,
    unpriced,
    simulated,
    count("LlmCallFailed"),
    count("StreamInvalidated"),
    replayed,
  ];
}

function answered(tally: Tally, { type, payload }: NewEvent): Tally {
  const { usage, cost } = payload as unknown as Answered;
  const isAnswer = type === "LlmCallCompleted";
  if (!isAnswer && !(type === "LlmCallFailed" && usage !== undefined)) return tally;
  const [calls, tokensIn, tokensOut, nano, unpriced, simulated, ...rest] = tally;
  return [
    calls + (isAnswer ? 1 : 0),
    tokensIn + (usage === undefined ? 0 : usage.input + usage.cacheRead + usage.cacheWrite),
    tokensOut + (usage?.output ?? 0),
    nano + (cost === undefined ? 0 : nanoUsd(cost.usd)),
    unpriced + (cost === undefined ? 1 : 0),
    simulated + (cost?.simulated === true ? 1 : 0),
    ...rest,
  ];
}
