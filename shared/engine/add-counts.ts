// What streams have counted goes into their agents' totals, a batch at a time, at each pass of the guardian.
import { COUNT_AFTER_MS, COUNT_BATCH_STREAMS, COUNT_BATCHES } from "../core/limits.ts";
import type { Totals } from "../ports/totals.ts";
import type { EngineDeps } from "./deps.ts";
import { eachAgent } from "./each-agent.ts";

/** Bounded: what is left over is first at the next pass. Returns how many streams were added. */
export const addCounts = ({ agents, totals }: Pick<EngineDeps, "agents"> & { totals: Totals }): Promise<number> =>
  eachAgent({ agents }, async (agent) => {
    let streams = 0;
    for (let batch = 0; batch < COUNT_BATCHES; batch++) {
      const added = await totals.add(agent, COUNT_BATCH_STREAMS, COUNT_AFTER_MS);
      streams += added;
      if (added < COUNT_BATCH_STREAMS) break;
    }
    return streams;
  });
