// The backstop of I7: a stream that one generation cuts again and again asks something else at every resume. More cuts would only cost money.
import type { ErrorInfo } from "../core/errors.ts";
import type { Recorded } from "../core/events.ts";
import { CUT_STORM_CUTS, CUT_STORM_WINDOW_MS } from "../core/limits.ts";

type Cut = {
  readonly type: string;
  readonly generation?: number;
  readonly retry?: unknown;
  readonly recordedAt: number;
};

/** How often this generation has cut the stream lately, when that is too often for one more; else null. */
export function cutsByThisGeneration(log: readonly Recorded<Cut>[], generation: number, now: number): number | null {
  const cuts = log.filter(
    (e) =>
      e.type === "StreamInvalidated" &&
      e.retry === undefined && // somebody's wish, not the code's restlessness
      e.generation === generation &&
      e.recordedAt > now - CUT_STORM_WINDOW_MS,
  ).length;
  return cuts >= CUT_STORM_CUTS ? cuts : null;
}

export const stormProblem = (reason: string): ErrorInfo => ({
  code: "cut.storm",
  message: `${CUT_STORM_CUTS} cuts within ${CUT_STORM_WINDOW_MS / 60_000} minutes by the same code, and one more is due because ${reason}. Something in it changes at every run: a time, a random value, or an order.`,
});
