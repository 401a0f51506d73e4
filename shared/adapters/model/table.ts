// What is known of models: prices in US dollars per million tokens, window, most output, what they see. What is unknown is null, never a guess.
import type { ModelFacts, Price } from "../../ports/model.ts";

/** Of the rule-based model server and of scripted models: made-up numbers of a usual size, always shown as simulated. */
const SIMULATED: Price = { input: 1, cacheRead: 0.1, cacheWrite: 1.25, output: 5, simulated: true };

/** Name of the model that `toren model-server` serves. */
export const DEMO_MODEL = "rule-based-1";

const UNKNOWN: ModelFacts = { price: null, contextWindow: null, maxOutput: null, images: false, pdf: false };

export function factsOf(name: string): ModelFacts {
  if (name === `openai/${DEMO_MODEL}` || name.startsWith("mock/")) return { ...UNKNOWN, price: SIMULATED };
  return UNKNOWN;
}
