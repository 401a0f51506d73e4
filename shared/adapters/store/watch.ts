// What nobody's work is: streams whose clock is due, forgotten ones, and why a writer stepped back.
import { TorenError } from "../../core/errors.ts";
import { toStored } from "../../core/json.ts";
import type { Watch } from "../../ports/store.ts";
import type { Statements } from "./statements.ts";

interface DueRow {
  readonly run_id: string;
  readonly stream_id: string;
  readonly role: string | null;
  readonly attempts: number;
  readonly solo_attempts: number;
  readonly nudge: boolean;
}
interface AuditedRow {
  readonly run_id: string;
  readonly stream_id: string;
  readonly fixed: boolean;
}

export function createWatch(statements: Statements): Watch {
  return {
    due: async (agent, limit, backOffMs) => {
      const rows = await statements.change<DueRow>("due", agent, [limit, backOffMs]);
      return rows
        .filter((row) => row.nudge)
        .map((row) => ({
          runId: row.run_id,
          streamId: row.stream_id,
          role: row.role,
          attempts: row.attempts,
          soloAttempts: row.solo_attempts,
        }));
    },
    audit: async (agent, after, limit) => {
      const [runId, streamId] = after === null ? [null, null] : place(after);
      const rows = await statements.change<AuditedRow>("audit", agent, [runId, streamId, limit]);
      const last = rows.at(-1);
      return {
        fixed: rows.filter((row) => row.fixed).map((row) => ({ runId: row.run_id, streamId: row.stream_id })),
        next: last !== undefined && rows.length === limit ? `${last.run_id}/${last.stream_id}` : null,
      };
    },
    defer: async ({ agent, runId, streamId }, problem, afterMs) => {
      await statements.change("defer", agent, [runId, streamId, JSON.stringify(toStored({ ...problem })), afterMs]);
    },
  };
}

function place(after: string): [string, string] {
  const slash = after.indexOf("/");
  if (slash < 0) throw new TorenError("request.invalid", "The cursor isn't one that a page of the audit gave.");
  return [after.slice(0, slash), after.slice(slash + 1)];
}
