// The guardian's pass: nudges what is stalled or due, and once an hour looks for parked streams that nobody would ever wake (I9, I10).
import { CRASHES_BEFORE_SOLO, GUARDIAN_BACKOFF_MS, GUARDIAN_BATCH_STREAMS } from "../core/limits.ts";
import type { EngineDeps } from "./deps.ts";
import { hintOf, nudge } from "./hints.ts";

export interface Guarded {
  readonly nudged: number;
}

/** One pass over the agents that this worker serves, bounded: what is left over is still due at the next pass. */
export async function guard(deps: Pick<EngineDeps, "store" | "queue" | "agents">): Promise<Guarded> {
  let nudged = 0;
  for (const agent of deps.agents.names()) {
    const due = await deps.store.watch.due(agent, GUARDIAN_BATCH_STREAMS, GUARDIAN_BACKOFF_MS);
    const alone = due.filter((s) => s.attempts >= CRASHES_BEFORE_SOLO);
    const others = due.filter((s) => s.attempts < CRASHES_BEFORE_SOLO);
    await nudge(
      deps,
      others.map((s) => hintOf(agent, s.runId, s.streamId)),
    );
    await nudge(
      deps,
      alone.map((s) => hintOf(agent, s.runId, s.streamId)),
      { solo: true },
    );
    nudged += due.length;
  }
  return { nudged };
}

/** The audit, a page at a time until its end. */
export async function audit(deps: Pick<EngineDeps, "store" | "queue" | "agents">): Promise<{ fixed: number }> {
  let fixed = 0;
  for (const agent of deps.agents.names()) {
    for (let after: string | null = null; ; ) {
      const page = await deps.store.watch.audit(agent, after, GUARDIAN_BATCH_STREAMS);
      await nudge(
        deps,
        page.fixed.map((s) => hintOf(agent, s.runId, s.streamId)),
      );
      fixed += page.fixed.length;
      if (page.next === null) break;
      after = page.next;
    }
  }
  return { fixed };
}
