// A run whose code contradicts its log: the cuts that make them agree (I6), or the end of a storm of them (I7).
import type { RunEvent } from "../core/events.ts";
import { CUTS_IN_ONE_ADVANCE_MAX, DEFER_MS } from "../core/limits.ts";
import type { Advance, Outcome } from "../core/workflow/schedule.ts";
import { cutsByThisGeneration, stormProblem } from "./cut-storm.ts";
import type { Worked } from "./deps.ts";
import { stepBack } from "./take-stream.ts";
import type { TickWork } from "./tick-work.ts";

type CutEvent = Extract<RunEvent, { type: "StreamInvalidated" }>;
export type CutRun =
  /** The cuts stand in the work's log, and aren't buffered: what is planned after them may have to wait for a decision. */
  | { readonly type: "cut"; readonly advanced: Advance; readonly cuts: readonly CutEvent[] }
  | { readonly type: "not"; readonly worked: Worked };

export async function cutRun(
  work: TickWork,
  first: Extract<Outcome, { type: "cut" }>,
  again: () => Promise<Advance>,
): Promise<CutRun> {
  const { deps, hint, writer, deployed } = work;
  const { generation } = deployed;
  await writer.flush(); // what was absorbed stands, whatever becomes of the cut
  if (cutsByThisGeneration(work.log, generation, work.now()) !== null) {
    await writer.flush({ type: "release", afterMs: DEFER_MS });
    await stepBack(deps, hint, stormProblem(first.reason));
    return { type: "not", worked: "deferred" };
  }
  const cuts: CutEvent[] = [];
  let cut = first;
  for (let n = 0; n < CUTS_IN_ONE_ADVANCE_MAX; n++) {
    const event: CutEvent = { type: "StreamInvalidated", fromSeq: cut.fromSeq, reason: cut.reason, generation };
    cuts.push(event);
    work.log.push({ ...event, seq: writer.next + n, recordedAt: work.now() });
    const advanced = await again();
    if (advanced.outcome.type !== "cut") return { type: "cut", advanced, cuts };
    cut = advanced.outcome;
  }
  throw new Error(`more than ${CUTS_IN_ONE_ADVANCE_MAX} cuts in one advance`);
}
