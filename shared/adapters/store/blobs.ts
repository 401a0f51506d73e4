// Large values beside the rows that point to them.
import type { Json } from "../../core/json.ts";
import { COMMIT_BATCH_BYTES } from "../../core/limits.ts";
import { openAll, type SealedRow, type Unopened } from "./seals.ts";
import type { Statements } from "./statements.ts";
import { type Blob, blobPlace, pointers, restored } from "./values.ts";

/** Writes what the rows of the next statement will point to, before it and on another connection. Idempotent. */
export async function writeBlobs(
  statements: Statements,
  agent: string,
  runId: string,
  blobs: readonly Blob[],
): Promise<void> {
  // In one order everywhere: two writers of the same values wait for one another's rows.
  const sorted = blobs.toSorted((a, b) => (a.hash < b.hash ? -1 : 1));
  for (const some of chunks(sorted)) {
    const columns = [some.map(() => runId), some.map((b) => b.hash), some.map((b) => b.bytes), some.map((b) => b.text)];
    await statements.ask("write-blobs", agent, columns);
  }
}

/** Of COMMIT_BATCH_BYTES at most, or of one blob. */
function chunks(blobs: readonly Blob[]): Blob[][] {
  const result: Blob[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const blob of blobs) {
    bytes += blob.bytes;
    if (bytes > COMMIT_BATCH_BYTES) {
      result.push([]);
      bytes = blob.bytes;
    }
    result.at(-1)?.push(blob);
  }
  return result;
}

/** The values of rows as they were, in their order, with one query for all blobs, and none where there are none. What is sealed is opened. */
export async function restoreAll(
  statements: Statements,
  agent: string,
  sealedRows: readonly SealedRow[],
  unopened: Unopened = "throw",
): Promise<Json[]> {
  const values = await openAll(statements.seals, agent, sealedRows, unopened);
  const rows = sealedRows.map(({ runId }, i) => ({ runId, value: values[i] ?? null }));
  const wanted = rows.flatMap((row) => pointers(row.value).map((at) => [row.runId, at] as const));
  const byRun = new Map<string, Map<string, Json>>();
  if (wanted.length > 0) {
    const found = await statements.ask<{ run_id: string; hash: string; content: Json }>("read-blobs", agent, [
      wanted.map((w) => w[0]),
      wanted.map((w) => w[1]),
    ]);
    const shut = found.map((row) => ({ runId: row.run_id, value: row.content, place: blobPlace(row.hash) }));
    const contents = await openAll(statements.seals, agent, shut, unopened);
    for (const [i, row] of found.entries()) {
      const of = byRun.get(row.run_id) ?? new Map<string, Json>();
      byRun.set(row.run_id, of.set(row.hash, contents[i] ?? null));
    }
  }
  return rows.map((row) => restored(row.value, byRun.get(row.runId) ?? NONE));
}

const NONE: ReadonlyMap<string, Json> = new Map();
