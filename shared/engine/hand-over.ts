// A step boundary is where a writer may leave its stream to another worker: too little time, a worker that stops, or newer code in this one (I7).
import type { ErrorInfo } from "../core/errors.ts";
import { LONG_GRACE_MS, STEP_RESERVE_MS, STEP_WHOLE_MS } from "../core/limits.ts";
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
  const to = at.solo ? "solo" : at.deadline?.aborted === true && deps.longLane !== false ? "long" : lane;
  await writer.flush({ type: "release", afterMs: to === "long" ? LONG_GRACE_MS : 0 });
  await nudge(deps, [hint], { lane: to });
  return "handedOver";
}

/**
 * Whether a step that was given up at the deadline would be given up everywhere, and be paid each time: it had nearly a whole invocation, `hadMs`, and
 * nobody who isn't cut off may take it. One that began late is only unlucky.
 */
export const isTooLong = ({ deps, at }: Pick<Work, "deps" | "at">, hadMs: number): boolean =>
  at.deadline?.aborted === true && (at.solo || deps.longLane === false) && hadMs >= STEP_WHOLE_MS;

export const TOO_LONG: ErrorInfo = {
  code: "task.step_too_long",
  message:
    "A model call or a tool took longer than a worker here may run, and there is none without a time limit that may take it: make the step shorter, or deploy with workers for long tasks.",
};
