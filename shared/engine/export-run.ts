// Everything on record of a run and what stands below it, as lines of JSON: the rows of its tables, a page at a time, so that neither side ever holds more than
// a page.
import { TorenError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { EXPORT_PAGE_BYTES } from "../core/limits.ts";
import type { EngineDeps } from "./deps.ts";

/** In this order. What requests begin with is of the code, and comes with the runs that used it. */
const EXPORTED = [
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

/** Where a reader is: behind a row of a table of the run itself, or of one below it. */
export interface ExportPlace {
  readonly run: string;
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
  const runs = [runId, ...(await deps.store.children.allBelow(agent, runId))];
  let bytes = 0;
  for (let place: ExportPlace | null = decode(after, runs); place !== null; ) {
    const { run, table }: ExportPlace = place;
    const rows: readonly { key: string; number: number; row: Json }[] = await deps.store.exports.rows(
      agent,
      run,
      place,
    );
    for (const { row } of rows) {
      const line = JSON.stringify({ table, row });
      bytes += Buffer.byteLength(line);
      lines.push(line);
    }
    const last = rows.at(-1);
    place = last === undefined ? following(run, table, runs) : { run, table, key: last.key, number: last.number };
    if (bytes >= EXPORT_PAGE_BYTES && place !== null) return { lines, next: encode(place) };
  }
  return { lines, next: null };
}

function following(run: string, table: ExportedTable, runs: readonly string[]): ExportPlace | null {
  const next = EXPORTED[EXPORTED.indexOf(table) + 1];
  if (next !== undefined) return { run, table: next, ...START };
  const child = runs[runs.indexOf(run) + 1];
  return child === undefined ? null : { run: child, table: EXPORTED[0], ...START };
}

const encode = ({ run, table, key, number }: ExportPlace): string =>
  `x1.${table}.${number}.${Buffer.from(key).toString("base64url")}.${run}`;

const CURSOR = /^x1\.([a-z_]+)\.(-?\d{1,15})\.([\w-]{0,200})\.([0-9a-f-]{36})$/;

function decode(after: string, runs: readonly string[]): ExportPlace {
  if (after === "") return { run: runs[0] ?? "", table: "runs", ...START };
  const [, name, number, key, id] = CURSOR.exec(after) ?? [];
  const table = EXPORTED.find((t) => t === name);
  const run = runs.find((one) => one === id);
  if (run === undefined || table === undefined || number === undefined || key === undefined)
    throw new TorenError(
      "request.invalid",
      "`after` isn't a cursor of this route. Pass the `next` of the page before, or leave it out.",
    );
  return { run, table, key: Buffer.from(key, "base64url").toString().replaceAll("\0", ""), number: Number(number) };
}
