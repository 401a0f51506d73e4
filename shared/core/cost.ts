// What a model call costs. Kept in whole billionths of a dollar where it is added up: the cheapest token costs some fifty of them, and floats drift.
import type { Usage } from "./messages.ts";

/** US dollars per million tokens. */
export interface Rates {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  /** Made up: of scripted and rule-based models. */
  readonly simulated: boolean;
  /** What a call costs instead, all of it, whose input has more tokens than `aboveTokens`, cached ones counted; left out: the same. */
  readonly long?: Omit<Rates, "simulated" | "long"> & { readonly aboveTokens: number };
}

/** The rates of a call with so many tokens of input, cached or not. */
export const ratesFor = (inputTokens: number, rates: Rates): Omit<Rates, "long"> => {
  const { long, ...short } = rates;
  return long !== undefined && inputTokens > long.aboveTokens ? { ...long, simulated: rates.simulated } : short;
};

const MILLION = 1_000_000;
export const NANO_PER_USD = 1_000_000_000;

/** US dollars, exact to a billionth. `reasoning` is a part of `output`. */
export const costOf = (u: Usage, rates: Rates): number => {
  const r = ratesFor(u.input + u.cacheRead + u.cacheWrite, rates);
  const dollars =
    (u.input * r.input + u.cacheRead * r.cacheRead + u.cacheWrite * r.cacheWrite + u.output * r.output) / MILLION;
  return Math.round(dollars * NANO_PER_USD) / NANO_PER_USD;
};

/** Billionths of a dollar, rounded up. */
export const nanoUsd = (usd: number): number => Math.ceil(usd * NANO_PER_USD - 1e-6);
export const usdOf = (nano: number): number => nano / NANO_PER_USD;

/** What several recorded answers cost together. */
export interface Price {
  readonly modelCalls: number;
  /** US dollars; null: the price of one of them is unknown. */
  readonly usd: number | null;
  /** A price in it is made up: of scripted and rule-based models. */
  readonly simulated: boolean;
}

/** Of answers as they are on record; one without a cost has no known price. Summed in whole billionths: a thousand cents are ten dollars. */
export function priceOf(costs: readonly ({ readonly usd: number; readonly simulated: boolean } | undefined)[]): Price {
  const known = costs.filter((cost) => cost !== undefined);
  const nano = known.reduce((sum, cost) => sum + Math.round(cost.usd * NANO_PER_USD), 0);
  return {
    modelCalls: costs.length,
    usd: known.length < costs.length ? null : usdOf(nano),
    simulated: known.some((cost) => cost.simulated),
  };
}
