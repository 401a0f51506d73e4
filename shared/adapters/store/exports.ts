// Rows of a run's tables, for exports.
import { fromStored, type Json } from "../../core/json.ts";
import { EXPORT_PART_CHARS, EXPORT_QUERY_BYTES, EXPORT_QUERY_ROWS } from "../../core/limits.ts";
import type { ExportStore } from "../../ports/store.ts";
import type { Statements } from "./statements.ts";

export const createExports = (statements: Statements): ExportStore => ({
  rows: async (agent, runId, { table, key, number }) => {
    const bounds = [EXPORT_QUERY_ROWS, EXPORT_QUERY_BYTES, EXPORT_PART_CHARS];
    const rows = await statements.ask<{ k: string; n: number; row: Json }>("export-run", agent, [
      runId,
      table,
      key,
      number,
      ...bounds,
    ]);
    // A part of a blob is a piece of stored text: whoever joins the parts reads it as one.
    return rows.map(({ k, n, row }) => ({ key: k, number: n, row: table === "blobs" ? row : fromStored(row) }));
  },
});
