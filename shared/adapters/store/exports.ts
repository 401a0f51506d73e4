// Rows of a run's tables, for exports: opened, where they are sealed.
import { fromStored, type Json, type JsonObject } from "../../core/json.ts";
import { EXPORT_PART_CHARS, EXPORT_QUERY_BYTES, EXPORT_QUERY_ROWS } from "../../core/limits.ts";
import type { ExportStore } from "../../ports/store.ts";
import { openAll, openApart, type SealedRow } from "./seals.ts";
import type { Statements } from "./statements.ts";
import { blobPlace } from "./values.ts";

interface Line {
  readonly k: string;
  readonly n: number;
  readonly row: JsonObject;
}
type Exported = Awaited<ReturnType<ExportStore["rows"]>>;

export const createExports = (statements: Statements): ExportStore => ({
  rows: async (agent, runId, place) => {
    const { table, key, number } = place;
    if (table === "blobs" && (await isSealed(statements, agent, runId)))
      return await sealedBlob(statements, agent, runId, key, number);
    const bounds = [EXPORT_QUERY_ROWS, EXPORT_QUERY_BYTES, EXPORT_PART_CHARS];
    const lines = await statements.ask<Line>("export-run", agent, [runId, table, key, number, ...bounds]);
    const rows = await openedRows(statements, agent, runId, table, lines);
    // A part of a blob is a piece of stored text: whoever joins the parts reads it as one.
    return lines.map(({ k, n }, i) => {
      const row = rows[i] ?? null;
      return { key: k, number: n, row: table === "blobs" ? row : fromStored(row) };
    });
  },
});

async function isSealed({ seals }: Statements, agent: string, runId: string): Promise<boolean> {
  return (await seals.wrappedKey(agent, runId)) !== null;
}

/** Columns that hold something sealed. The wrapped key opens nothing of what is exported. */
async function openedRows(
  { seals }: Statements,
  agent: string,
  runId: string,
  table: string,
  lines: readonly Line[],
): Promise<JsonObject[]> {
  if (table === "request_headers")
    return await Promise.all(
      lines.map(async ({ row }) => ({ ...row, header: await openApart(seals.sealer, row.header ?? null, "header") })),
    );
  const names = COLUMNS[table] ?? [];
  const cells = lines.flatMap(({ row }) =>
    names.map(([name, place]): SealedRow => ({ runId, value: row[name] ?? null, place })),
  );
  const values = await openAll(seals, agent, cells);
  return lines.map(({ row: { data_key: _key, ...row } }, i) => ({
    ...row,
    ...Object.fromEntries(names.map(([name], c) => [name, values[i * names.length + c] ?? null])),
  }));
}

/** Each with the place that seals of it know: none where paths begin at the column. */
const COLUMNS: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  runs: [
    ["input", "input"],
    ["output", "output"],
    ["error", ""],
  ],
  task_specs: [["input", "input"]],
  inbox: [["payload", ""]],
  events: [["payload", ""]],
};

interface BlobRow {
  readonly hash: string;
  readonly bytes: number;
  readonly content: Json;
}

/** The next parts of one blob, EXPORT_QUERY_BYTES of it at most. It is opened anew for each page: few are so large. */
async function sealedBlob(
  statements: Statements,
  agent: string,
  runId: string,
  hash: string,
  part: number,
): Promise<Exported> {
  const page = Math.max(1, Math.floor(EXPORT_QUERY_BYTES / EXPORT_PART_CHARS));
  for (const same of part >= 0 ? [true, false] : [false]) {
    const [blob] = await statements.ask<BlobRow>("export-blob", agent, [runId, hash, same]);
    if (blob === undefined) continue;
    const sealedRow = { runId, value: blob.content, place: blobPlace(blob.hash) };
    const [content = null] = await openAll(statements.seals, agent, [sealedRow]);
    const parts = partsOf(JSON.stringify(content));
    const first = same ? part + 1 : 0;
    const rows = parts.slice(first, first + page).map((text, i) => ({
      key: blob.hash,
      number: first + i,
      row: { run_id: runId, hash: blob.hash, bytes: blob.bytes, part: first + i, parts: parts.length, text },
    }));
    if (rows.length > 0) return rows;
  }
  return [];
}

/** Never between the halves of one character. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const cut = at + EXPORT_PART_CHARS;
    const halved = (text.charCodeAt(cut - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(cut) & 0xfc00) === 0xdc00;
    parts.push(text.slice(at, halved ? cut - 1 : cut));
    at = halved ? cut - 1 : cut;
  }
  return parts;
}
