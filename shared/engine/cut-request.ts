// A cut that isn't made because it would silently repeat an effect (I6b): the stream says so once, and waits for a person's decision.
import type { Price } from "../core/cost.ts";
import type { Recorded } from "../core/events.ts";

interface CutRequested {
  readonly type: "CutRequested";
  readonly fromSeq: number;
  readonly reason: string;
  readonly generation: number;
  /** What would be repeated, and what the answers cost that would be asked for anew. */
  readonly calls: string[];
  readonly price: Price;
}
/** What making a cut would do again. */
export interface Repeated {
  readonly calls: readonly string[];
  readonly price: Price;
}
type Logged = {
  readonly type: string;
  readonly fromSeq?: number;
  readonly generation?: number;
  readonly decision?: "rerun" | "keep";
};

/** The event to record; null: the last one in the log says the same, this worker only met it again. */
export function cutRequest(
  log: readonly Recorded<Logged>[],
  cut: { readonly fromSeq: number; readonly reason: string },
  generation: number,
  { calls, price }: Repeated,
): CutRequested | null {
  const { fromSeq, reason } = cut;
  const asked = log.findLast((e) => e.type === "CutRequested");
  if (asked?.fromSeq === fromSeq && asked.generation === generation) return null;
  return { type: "CutRequested", fromSeq, reason, generation, calls: [...calls], price };
}

/** The request that is still open: not decided, and no cut made since. */
export const isCutAsked = (log: readonly Recorded<Logged>[]): boolean =>
  log.findLast((e) => CUT_EVENTS.has(e.type))?.type === "CutRequested";

const CUT_EVENTS: ReadonlySet<string> = new Set(["CutRequested", "CutDecided", "StreamInvalidated"]);

/** Somebody decided that this cut, as this code wants it, is to be made. */
export function mayCut(log: readonly Recorded<Logged>[], fromSeq: number, generation: number): boolean {
  const asked = log.findLast((e) => e.type === "CutRequested");
  const decided = log.findLast((e) => e.type === "CutDecided");
  if (asked === undefined || decided?.decision !== "rerun" || decided.seq < asked.seq) return false;
  return asked.fromSeq === fromSeq && asked.generation === generation;
}
