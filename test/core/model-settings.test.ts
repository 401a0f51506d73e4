import { expect, test } from "@jest/globals";
import { factsWith, type ModelSettings } from "../../shared/core/model-settings.ts";

const facts = { price: null, contextWindow: 200_000, maxOutput: 8_000, images: true };
const silent: ModelSettings = {
  maxInFlight: 4,
  tokensPerMinute: null,
  contextWindow: null,
  maxOutput: null,
  price: null,
};

test("what an author says goes before the table; what nobody said stays", () => {
  expect(factsWith(undefined, facts)).toBe(facts);
  expect(factsWith(silent, facts)).toEqual(facts);
  const price = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, simulated: false };
  expect(factsWith({ ...silent, price, contextWindow: 4_096 }, facts)).toEqual({
    ...facts,
    price,
    contextWindow: 4_096,
  });
});
