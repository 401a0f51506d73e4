// A cut that isn't made because it would silently repeat an effect (I6b): the stream says so once, and waits for a person's decision.
import type { Recorded } from "../core/events.ts";

interface CutRequested {
  readonly type: "CutRequested";
  readonly fromSeq: number;
  readonly reason: string;
  readonly generation: number;
  /** What would be repeated. */
  readonly calls: string[];
}
type Logged = { readonly type: string; readonly fromSeq?: number; readonly generation?: number };

/** The event to record; null: the last one in the log says the same, this worker only met it again. */
export function cutRequest(
  log: readonly Recorded<Logged>[],
  cut: { readonly fromSeq: number; readonly reason: string },
  generation: number,
  calls: readonly string[],
): CutRequested | null {
  const { fromSeq, reason } = cut;
  const asked = log.findLast((e) => e.type === "CutRequested");
  if (asked?.fromSeq === fromSeq && asked.generation === generation) return null;
  return { type: "CutRequested", fromSeq, reason, generation, calls: [...calls] };
}
