// The truth about an acknowledgement that got lost: whether a repeated append that met a conflict had landed the first time.
import type { Pool } from "pg";
import type { Appended } from "../../ports/store.ts";
import type { Row } from "./append-statement.ts";
import type { Item } from "./committer.ts";
import { repeatable } from "./statements.ts";

/**
 * For each item the answer that it should have had, or `again`: it had not landed, and may be sent anew.
 * @throws the driver's own error.
 */
export async function recognised(pool: Pool, agent: string, items: readonly Item[]): Promise<(Appended | "again")[]> {
  const seen = new Map((await readBack(pool, agent, items)).map((row) => [row.ord, row]));
  return items.map((item, ord) => judge(item, seen.get(ord)));
}

interface Seen {
  readonly ord: number;
  readonly head_seq: number;
  readonly lease_epoch: number;
  readonly lease_owner: string | null;
  readonly inbox_seq: number;
  readonly rang: boolean;
}

async function readBack(pool: Pool, agent: string, items: readonly Item[]): Promise<Seen[]> {
  const refs = items.map((item) => item.append.lease.stream);
  const values = [refs.map((_, ord) => ord), refs.map((r) => r.runId), refs.map((r) => r.streamId)];
  return (await repeatable<Seen>(pool, "read-append", agent, values, true)).rows;
}

/** Whether a repeated append that met a conflict had landed the first time. Under my epoch nobody but me writes, and nobody but me lets go of the lease. */
function judge(item: Item, seen: Seen | undefined): Appended | "again" {
  const { append: a } = item;
  if (seen === undefined || seen.lease_epoch !== a.lease.epoch) return { type: "conflict" };
  const letGo = seen.lease_owner === null;
  const landed = seen.head_seq === a.head + a.events.length && (a.events.length > 0 || letGo);
  if (!landed) return seen.head_seq === a.head && !letGo ? "again" : { type: "conflict" };
  const status = letGo ? LETS_GO[a.next.type] : "running"; // a park that was refused keeps the lease
  return ok(item, seen.inbox_seq, status, a.next.type === "end" && seen.rang);
}

const LETS_GO = { run: "running", park: "parked", release: "ready", continue: "ready", end: "ended" } as const;

/** An append that landed. */
export const ok = ({ append: a }: Item, inboxSeq: number, status: Row["status"], rang: boolean): Appended => ({
  type: "ok",
  head: a.head + a.events.length,
  inboxSeq,
  status,
  rang,
});
