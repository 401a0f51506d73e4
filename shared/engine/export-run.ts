// Everything on record of a run, as lines of JSON: the rows of its tables, a page at a time, so that neither side ever holds more than a page.
import { TorenError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { EXPORT_PAGE_BYTES } from "../core/limits.ts";
import type { EngineDeps } from "./deps.ts";

/** In this order. What requests begin with is of the code, and comes with the runs that used it. */
export const EXPORTED = [
  "runs",
  "streams",
  "waves",
  "budgets",
  "run_files",
  "task_specs",
  "inbox",
  "events",
  "blobs",
  "request_headers",
] as const;
export type ExportedTable = (typeof EXPORTED)[number];

/** Where a reader is: behind a row of a table. */
export interface ExportPlace {
  readonly table: ExportedTable;
  readonly key: string;
  readonly number: number;
}

export interface ExportPage {
  /** Each a line: `{"table": …, "row": {…}}`. */
  readonly lines: readonly string[];
  /** Null: that was all. */
  readonly next: string | null;
}

const START = { key: "", number: -1 };

/** A run that goes on is exported as it is at each page: what is written behind the reader's place isn't read. */
export async function exportRun(
  deps: Pick<EngineDeps, "store">,
  { agent, runId, after }: { agent: string; runId: string; after: string },
): Promise<ExportPage> {
  const lines: string[] = [];
  let bytes = 0;
  for (let place: ExportPlace | null = decode(after); place !== null; ) {
    const { table }: ExportPlace = place;
    const rows: readonly { key: string; number: number; row: Json }[] = await deps.store.exports.rows(
      agent,
      runId,
      place,
    );
    for (const { row } of rows) {
      const line = JSON.stringify({ table, row });
      bytes += Buffer.byteLength(line);
      lines.push(line);
    }
    const last = rows.at(-1);
    place = last === undefined ? following(table) : { table, key: last.key, number: last.number };
    if (bytes >= EXPORT_PAGE_BYTES && place !== null) return { lines, next: encode(place) };
  }
  return { lines, next: null };
}

function following(table: ExportedTable): ExportPlace | null {
  const next = EXPORTED[EXPORTED.indexOf(table) + 1];
  return next === undefined ? null : { table: next, ...START };
}

const encode = ({ table, key, number }: ExportPlace): string =>
  `x1.${table}.${number}.${Buffer.from(key).toString("base64url")}`;

const CURSOR = /^x1\.([a-z_]+)\.(-?\d{1,15})\.([\w-]{0,200})$/;

function decode(after: string): ExportPlace {
  if (after === "") return { table: "runs", ...START };
  const [, name, number, key] = CURSOR.exec(after) ?? [];
  const table = EXPORTED.find((t) => t === name);
  if (table === undefined || number === undefined || key === undefined)
    throw new TorenError(
      "request.invalid",
      "`after` isn't a cursor of this route. Pass the `next` of the page before, or leave it out.",
    );
  return { table, key: Buffer.from(key, "base64url").toString().replaceAll("\0", ""), number: Number(number) };
}
