// A step boundary is where a writer may leave its stream to another worker: too little time, a worker that stops, or newer code in this one (I7).
import { LONG_GRACE_MS, STEP_RESERVE_MS } from "../core/limits.ts";
import type { Deployed, Lane } from "../ports/agents.ts";
import type { Hint } from "../ports/queue.ts";
import type { Circumstances, EngineDeps, Worked } from "./deps.ts";
import { nudge } from "./hints.ts";
import type { StreamWriter } from "./stream-writer.ts";

interface Work {
  readonly deps: EngineDeps;
  readonly hint: Hint;
  readonly at: Circumstances;
  readonly deployed: Deployed;
  readonly writer: StreamWriter;
}

/** No step is begun any more. */
export const mustHandOver = ({ deps, hint, at, deployed }: Work): boolean =>
  (deps.agents.get(hint.agent)?.generation ?? 0) > deployed.generation ||
  at.stop.aborted ||
  at.remainingMs() < STEP_RESERVE_MS;

/**
 * Releases first, then nudges: the next reader finds it free. A step that was under way until the deadline is too long for a worker that has one: the task
 * goes to one that has none. `lane`: where its role belongs.
 */
export async function handOver({ deps, hint, at, writer }: Work, lane?: Lane): Promise<Worked> {
  const to = at.solo ? "solo" : at.deadline?.aborted === true ? "long" : lane;
  await writer.flush({ type: "release", afterMs: to === "long" ? LONG_GRACE_MS : 0 });
  await nudge(deps, [hint], { lane: to });
  return "handedOver";
}
