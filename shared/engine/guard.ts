// The guardian's pass: nudges what is stalled or due, and once an hour looks for parked streams that nobody would ever wake (I9, I10).
import { CRASHES_BEFORE_SOLO, GUARDIAN_BACKOFF_MS, GUARDIAN_BATCH_STREAMS } from "../core/limits.ts";
import type { EngineDeps } from "./deps.ts";
import { eachAgent } from "./each-agent.ts";
import { hintOf, laneOf, nudge } from "./hints.ts";

export interface Guarded {
  readonly nudged: number;
}

type GuardDeps = Pick<EngineDeps, "store" | "queue" | "agents">;

/** One pass over the agents that this worker serves, bounded: what is left over is still due at the next pass. */
export async function guard(deps: GuardDeps): Promise<Guarded> {
  const nudged = await eachAgent(deps, async (agent) => {
    const due = await deps.store.watch.due(agent, GUARDIAN_BATCH_STREAMS, GUARDIAN_BACKOFF_MS);
    const lanes = Map.groupBy(due, (s) => (s.attempts >= CRASHES_BEFORE_SOLO ? "solo" : laneOf(deps, agent, s.role)));
    for (const [lane, streams] of lanes)
      await nudge(
        deps,
        streams.map((s) => hintOf(agent, s.runId, s.streamId)),
        { lane },
      );
    return due.length;
  });
  return { nudged };
}

/** The audit, a page at a time until its end. */
export async function audit(deps: GuardDeps): Promise<{ fixed: number }> {
  const fixed = await eachAgent(deps, async (agent) => {
    let found = 0;
    for (let after: string | null = null; ; ) {
      const page = await deps.store.watch.audit(agent, after, GUARDIAN_BATCH_STREAMS);
      await nudge(
        deps,
        page.fixed.map((s) => hintOf(agent, s.runId, s.streamId)),
      );
      found += page.fixed.length;
      if (page.next === null) return found;
      after = page.next;
    }
  });
  return { fixed };
}
