// Forgetting runs that have ended.
import type { EraseStore } from "../../ports/store.ts";
import type { Statements } from "./statements.ts";

export const createErasure = (statements: Statements): EraseStore => ({
  erase: async (agent, which, { runs, events, dryRun }) => {
    const [ids, olderThanMs] = "runIds" in which ? [which.runIds, null] : [null, which.olderThanMs];
    const rows = await statements.ask<{ run_id: string; events: number; files: string[] }>("erase-runs", agent, [
      ids,
      olderThanMs,
      runs,
      events,
      dryRun,
    ]);
    return rows.map((row) => ({ runId: row.run_id, events: row.events, files: row.files }));
  },
});
