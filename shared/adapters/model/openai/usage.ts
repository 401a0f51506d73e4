// What a call used, in our words: both interfaces count cached tokens, and those written to the cache, as a part of the input.
import type { Usage } from "../../../core/messages.ts";

export interface WireUsage {
  readonly input: unknown;
  readonly cached: unknown;
  readonly written: unknown;
  readonly output: unknown;
  readonly reasoning: unknown;
}

export function usageOf(wire: WireUsage): Usage {
  const all = count(wire.input);
  const cacheRead = Math.min(count(wire.cached), all);
  const cacheWrite = Math.min(count(wire.written), all - cacheRead);
  const output = count(wire.output);
  const reasoning = Math.min(count(wire.reasoning), output);
  return { input: all - cacheRead - cacheWrite, cacheRead, cacheWrite, output, reasoning };
}

/** Some servers leave counts out, or give none that are any. */
function count(tokens: unknown): number {
  const whole = Math.trunc(Number(tokens ?? 0));
  return Number.isSafeInteger(whole) && whole > 0 ? whole : 0;
}
