// Which trace the work on a stream belongs to.
import type { TraceStore } from "../../ports/store.ts";
import type { Statements } from "./statements.ts";

interface TraceRow {
  readonly trace_context: string | null;
  readonly role: string | null;
  readonly at_rest: boolean;
}

export const createTraces = (statements: Statements): TraceStore => ({
  of: async ({ agent, runId, streamId }) => {
    const [row] = await statements.ask<TraceRow>("read-trace", agent, [runId, streamId]);
    return row === undefined ? null : { traceContext: row.trace_context, role: row.role, atRest: row.at_rest };
  },
});
