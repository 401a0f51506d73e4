// A step boundary is where a writer may leave its stream to another worker: too little time, a worker that stops, or newer code in this one (I7).
import { STEP_RESERVE_MS } from "../core/limits.ts";
import type { Deployed } from "../ports/agents.ts";
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

/** Releases first, then nudges: the next reader finds it free. */
export async function handOver({ deps, hint, at, writer }: Work): Promise<Worked> {
  await writer.flush({ type: "release", afterMs: 0 });
  await nudge(deps, [hint], { solo: at.solo });
  return "handedOver";
}
