// Prices in US dollars per million tokens. An unknown model's cost is shown as unknown, never as zero.
import type { Price } from "../../ports/model.ts";

/** Of the rule-based model server and of scripted models: made-up numbers of a usual size, always shown as simulated. */
const SIMULATED: Price = { input: 1, cacheRead: 0.1, cacheWrite: 1.25, output: 5, simulated: true };

/** Name of the model that `toren model-server` serves. */
export const DEMO_MODEL = "rule-based-1";

export function priceOf(name: string): Price | null {
  if (name === `openai/${DEMO_MODEL}` || name.startsWith("mock/")) return SIMULATED;
  return null;
}
