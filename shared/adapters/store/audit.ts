// The audit rows of the control schema. Those of starts are written by create-run itself.
import type { Audit, AuditAction } from "../../ports/audit.ts";
import type { Database } from "../../ports/database.ts";
import { createStatements } from "./statements.ts";

interface Row {
  readonly id: number;
  readonly at: number;
  readonly by_name: string;
  readonly key_id: string | null;
  readonly action: AuditAction;
  readonly agent: string | null;
  readonly run_id: string | null;
  readonly subject: string | null;
}

export function createAudit(database: Pick<Database, "appends" | "pool">): Audit {
  const { ask } = createStatements(database);
  return {
    note: async ({ by, keyId, action, agent, runId, subject }) =>
      void (await ask("note-audit", null, [by, keyId, action, agent, runId, subject])),
    page: async ({ runId = null, before = null, limit }) => {
      const rows = await ask<Row>("list-audit", null, [runId, before, limit]);
      return rows.map(({ by_name: by, key_id: keyId, run_id: run, ...row }) => ({ ...row, by, keyId, runId: run }));
    },
  };
}
