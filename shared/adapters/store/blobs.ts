// Large values beside the rows that point to them.
import type { Json } from "../../core/json.ts";
import type { Statements } from "./statements.ts";
import { type Blob, pointers, restored } from "./values.ts";

/** Writes what the rows of the next statement will point to, before it and on another connection. Idempotent. */
export async function writeBlobs(
  statements: Statements,
  agent: string,
  runId: string,
  blobs: readonly Blob[],
): Promise<void> {
  // One a statement: together they could be larger than what one message to the server can hold.
  for (const b of blobs) await statements.ask("write-blobs", agent, [[runId], [b.hash], [b.bytes], [b.text]]);
}

/** The values of rows as they were, in their order, with one query for all blobs, and none where there are none. */
export async function restoreAll(
  statements: Statements,
  agent: string,
  rows: readonly { readonly runId: string; readonly value: Json }[],
): Promise<Json[]> {
  const wanted = rows.flatMap((row) => pointers(row.value).map((at) => [row.runId, at] as const));
  const byRun = new Map<string, Map<string, Json>>();
  if (wanted.length > 0) {
    const found = await statements.ask<{ run_id: string; hash: string; content: Json }>("read-blobs", agent, [
      wanted.map((w) => w[0]),
      wanted.map((w) => w[1]),
    ]);
    for (const row of found) {
      const of = byRun.get(row.run_id) ?? new Map<string, Json>();
      byRun.set(row.run_id, of.set(row.hash, row.content));
    }
  }
  return rows.map((row) => restored(row.value, byRun.get(row.runId) ?? NONE));
}

const NONE: ReadonlyMap<string, Json> = new Map();
