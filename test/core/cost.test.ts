import { describe, expect, it } from "@jest/globals";
import { costOf, priceOf, type Rates, ratesFor } from "../../shared/core/cost.ts";
import { NO_USAGE } from "../../shared/core/messages.ts";

const RATES: Rates = {
  input: 0.1,
  cacheRead: 0.01,
  cacheWrite: 0.125,
  output: 0.5,
  simulated: false,
  long: { aboveTokens: 100_000, input: 0.5, cacheRead: 0.05, cacheWrite: 0.625, output: 2.5 },
};

describe("what a call costs", () => {
  it("is exact to a billionth of a dollar", () => {
    expect(costOf({ ...NO_USAGE, input: 3, cacheRead: 7, cacheWrite: 11, output: 13 }, RATES)).toBe(0.000008245);
  });

  it("is more, all of it, above a model's long prompt, cached tokens counted", () => {
    const usage = { ...NO_USAGE, input: 1_000, cacheRead: 90_000, cacheWrite: 9_000, output: 1_000 };
    expect(costOf(usage, RATES)).toBe(0.002625);
    expect(costOf({ ...usage, input: 1_001 }, RATES)).toBe(0.0131255);
    expect(ratesFor(100_001, RATES)).toMatchObject({ output: 2.5, simulated: false });
    const { long: _, ...flat } = RATES;
    expect(costOf({ ...usage, input: 1_000_000 }, flat)).toBe(0.102525);
  });
});

describe("what recorded answers cost together", () => {
  const cent = { usd: 0.01, simulated: false };
  it("is exact: a thousand cents are ten dollars", () => {
    expect(priceOf(Array.from({ length: 1_000 }, () => cent))).toEqual({
      modelCalls: 1_000,
      usd: 10,
      simulated: false,
    });
    expect(priceOf([])).toEqual({ modelCalls: 0, usd: 0, simulated: false });
  });
  it("is unknown, never zero, where one of them has no price; and says when one is made up", () => {
    expect(priceOf([cent, undefined])).toEqual({ modelCalls: 2, usd: null, simulated: false });
    expect(priceOf([cent, { usd: 0.02, simulated: true }])).toEqual({ modelCalls: 2, usd: 0.03, simulated: true });
  });
});
