// What an agent's author says about a model goes before what the product's table knows.
import type { Rates } from "./cost.ts";

/** Null: nothing was said, the table holds. */
export interface ModelSettings {
  /** Calls under way at once, over all workers. */
  readonly maxInFlight: number | null;
  /** Tokens of input and output together, over all workers. */
  readonly tokensPerMinute: number | null;
  /** Tokens of request and answer together. */
  readonly contextWindow: number | null;
  /** Tokens of one answer at most. */
  readonly maxOutput: number | null;
  readonly price: Rates | null;
}

/** What both can speak of. */
interface Facts {
  readonly price: Rates | null;
  readonly contextWindow: number | null;
  readonly maxOutput: number | null;
}

export const factsWith = <F extends Facts>(settings: ModelSettings | undefined, facts: F): F =>
  settings === undefined
    ? facts
    : {
        ...facts,
        price: settings.price ?? facts.price,
        contextWindow: settings.contextWindow ?? facts.contextWindow,
        maxOutput: settings.maxOutput ?? facts.maxOutput,
      };
