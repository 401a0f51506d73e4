// What isn't done because it would silently repeat an effect (I6b): the stream says so once, and waits for a person's decision.
import type { Price } from "../core/cost.ts";
import type { Recorded, RunEvent } from "../core/events.ts";

type CutRequested = Extract<RunEvent, { type: "CutRequested" }>;
/** Of a run's stream: what would be planned, and what a decision to keep makes of it. */
export type Instead = NonNullable<CutRequested["instead"]>;
type Logged = {
  readonly type: string;
  readonly fromSeq?: number;
  readonly generation?: number;
  readonly decision?: "rerun" | "keep";
  readonly instead?: Instead | undefined;
};
/** What going on would do again. */
export interface Repeated {
  readonly calls: readonly string[];
  readonly price: Price;
  readonly instead?: Instead;
}

/** The event to record; null: the open one in the log says the same, this worker only met it again. What was decided about is asked anew. */
export function cutRequest(
  log: readonly Recorded<Logged>[],
  cut: { readonly fromSeq: number; readonly reason: string },
  generation: number,
  { calls, price, instead }: Repeated,
): CutRequested | null {
  const { fromSeq, reason } = cut;
  const asked = log.findLast((e) => CUT_EVENTS.has(e.type));
  const same = asked?.type === "CutRequested" && asked.fromSeq === fromSeq && asked.generation === generation;
  if (same && asked.instead?.digest === instead?.digest) return null;
  const more = instead === undefined ? {} : { instead };
  return { type: "CutRequested", fromSeq, reason, generation, calls: [...calls], price, ...more };
}

/** The request that is still open: not decided, and nothing was cut since. A decision that was made about an earlier one, by its key, is about another. */
export function isCutAsked(log: readonly Recorded<Logged>[], decisionKey: string): boolean {
  const last = log.findLast((e) => CUT_EVENTS.has(e.type));
  return last?.type === "CutRequested" && decisionKey === cutKey(last.seq);
}

/** Of the fact that decides: it names the question, the CutRequested's number. */
export const cutKey = (askedSeq: number): string => `cut:${askedSeq}`;

const PLANS: ReadonlySet<string> = new Set(["WavePlanned", "ChildStarted", "TasksGivenUp"]);
const CUT_EVENTS: ReadonlySet<string> = new Set(["CutRequested", "CutDecided", "StreamInvalidated"]);

/** Somebody decided that this cut of a task, as this code wants it, is to be made. */
export function mayCut(log: readonly Recorded<Logged>[], fromSeq: number, generation: number): boolean {
  const last = lastDecided(log, generation);
  return last?.decided.decision === "rerun" && last.asked.fromSeq === fromSeq;
}

/** The last question with what was decided about it; null: nothing was, or another generation had asked. */
function lastDecided(log: readonly Recorded<Logged>[], generation: number) {
  const asked = log.findLast((e) => e.type === "CutRequested");
  const decided = log.findLast((e) => e.type === "CutDecided");
  if (asked === undefined || decided === undefined || decided.seq < asked.seq) return null;
  return asked.generation === generation ? { asked, decided } : null;
}

/** What somebody decided about this plan of a run, as this code wants it, and what hasn't been carried out; null: nobody has. */
export function decidedAbout(
  log: readonly Recorded<Logged>[],
  { digest }: Instead,
  generation: number,
): "rerun" | "keep" | null {
  const last = lastDecided(log, generation);
  if (last?.asked.instead?.digest !== digest) return null;
  const { decided } = last;
  const done = log.some((e) => e.seq > decided.seq && PLANS.has(e.type));
  return done ? null : (decided.decision ?? null);
}
