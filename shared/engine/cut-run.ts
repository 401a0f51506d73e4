// A run whose code contradicts its log: the cut, or the refusal of one that would silently repeat an effect (I6b), or the end of a storm (I7).

import { CUTS_IN_ONE_ADVANCE_MAX, DEFER_MS } from "../core/limits.ts";
import { planTick } from "../core/workflow/plan.ts";
import type { Advance, Outcome } from "../core/workflow/schedule.ts";
import { cutRequest, mayCut, type Repeated } from "./cut-request.ts";
import { cutsByThisGeneration, stormProblem } from "./cut-storm.ts";
import type { Worked } from "./deps.ts";
import { handOver } from "./hand-over.ts";
import { stepBack } from "./take-stream.ts";
import type { TickWork } from "./tick-work.ts";

type Cut = Extract<Outcome, { type: "cut" }>;
export type CutRun =
  | { readonly type: "cut"; readonly advanced: Advance }
  | { readonly type: "not"; readonly worked: Worked };

export async function cutRun(work: TickWork, first: Cut, again: () => Promise<Advance>): Promise<CutRun> {
  const { deps, hint, writer, deployed } = work;
  await writer.flush(); // what was absorbed stands, whatever becomes of the cut
  if (cutsByThisGeneration(work.log, deployed.generation, work.now()) !== null) {
    await writer.flush({ type: "release", afterMs: DEFER_MS });
    await stepBack(deps, hint, stormProblem(first.reason));
    return { type: "not", worked: "deferred" };
  }
  const before = work.log.length;
  const cuts: { type: "StreamInvalidated"; fromSeq: number; reason: string; generation: number }[] = [];
  let cut = first;
  for (let n = 0; n < CUTS_IN_ONE_ADVANCE_MAX; n++) {
    const event = {
      type: "StreamInvalidated",
      fromSeq: cut.fromSeq,
      reason: cut.reason,
      generation: deployed.generation,
    } as const;
    cuts.push(event);
    work.log.push({ ...event, seq: writer.next + cuts.length - 1, recordedAt: work.now() }); // not buffered before it is allowed
    const advanced = await again();
    if (advanced.outcome.type === "cut") {
      cut = advanced.outcome;
      continue;
    }
    const allowed = mayCut(work.log.slice(0, before), first.fromSeq, deployed.generation);
    const repeated = allowed ? null : await wouldRepeat(work, advanced);
    if (repeated !== null) {
      work.log.length = before;
      return { type: "not", worked: await waitForDecision(work, first, repeated) };
    }
    for (const event of cuts) writer.buffer(event);
    return { type: "cut", advanced };
  }
  throw new Error(`more than ${CUTS_IN_ONE_ADVANCE_MAX} cuts in one advance`);
}

/**
 * Completed calls with effects outside and no key, of tasks that the new plans don't take over: running the workflow on would make them again. The price
 * is of all such tasks: what later plans take over comes off it. Null: nothing stands in the cut's way.
 */
async function wouldRepeat(work: TickWork, advanced: Advance): Promise<Repeated | null> {
  const history = work.history();
  const { agent, runId } = work.hint;
  const digests = await work.deps.store.tasks.digests(agent, runId);
  const { waves } = planTick(advanced.decisions, history, new Map(digests.map((d) => [d.taskId, d.digest])));
  const claimed = new Set(waves.flatMap((w) => w.claimed));
  const cut = new Set(history.cutPlans.flatMap((p) => p.tasks));
  const dropped = [...cut].filter((id) => !history.taken.has(id) && !claimed.has(id));
  if (dropped.length === 0) return null;
  const { tasks } = work.deps.store;
  const calls = await tasks.unrepeatable(agent, runId, dropped);
  return calls.length === 0 ? null : { calls, price: await tasks.price(agent, runId, dropped) };
}

async function waitForDecision(work: TickWork, cut: Cut, repeated: Repeated): Promise<Worked> {
  const { writer, deployed } = work;
  const request = cutRequest(work.log, cut, deployed.generation, repeated);
  if (request !== null) work.record(request);
  const { status } = await writer.flush({ type: "park", absorbed: writer.absorbed, wait: "cut", wakeAt: null });
  return status === "running" ? await handOver(work) : "parked"; // a fact came: perhaps the decision
}
