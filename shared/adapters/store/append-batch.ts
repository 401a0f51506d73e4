// One batch of appends on its way: what is tried again, what is tried alone, and who is told what.
import type { Pool } from "pg";
import { TorenError } from "../../core/errors.ts";
import { COMMIT_TRIES, SETTLE_TRIES } from "../../core/limits.ts";
import { type Row, sendBatch } from "./append-statement.ts";
import type { Item } from "./committer.ts";
import { ok, recognised } from "./lost-append.ts";
import { explained, kindOf, pause } from "./statements.ts";

/** Settles every item; never rejects. */
export type Appender = (items: readonly Item[]) => Promise<void>;

export function createAppender(pool: Pool, agent: string): Appender {
  /** `doubtful`: an earlier try of the same may have landed, unheard. `resent`: how often these were told to come again. */
  const submit = async (items: readonly Item[], doubtful: boolean, resent: number): Promise<void> => {
    let rows: Row[] = [];
    for (let tries = 1; ; tries++) {
      try {
        rows = await sendBatch(pool, agent, items);
        break;
      } catch (e) {
        const kind = kindOf(e);
        if (kind === "item" && items.length > 1) return alone(items, doubtful, resent);
        if ((kind !== "lost" && kind !== "contention") || tries >= COMMIT_TRIES) return rejectAll(items, explained(e));
        doubtful ||= kind === "lost";
        await pause(tries);
      }
    }
    const { again, conflicts } = answered(items, rows);
    if (doubtful && conflicts.length > 0) again.push(...(await unheard(conflicts)));
    else for (const item of conflicts) item.resolve({ type: "conflict" });
    if (again.length === 0) return;
    if (resent < SETTLE_TRIES) return submit(again, doubtful, resent + 1);
    rejectAll(again, new TorenError("database.unavailable", `An append was told to come again ${resent} times.`));
  };
  const alone = async (items: readonly Item[], doubtful: boolean, resent: number): Promise<void> => {
    for (const item of items) await submit([item], doubtful, resent);
  };

  /** Conflicts after a doubtful try: those that were our own doing are answered so; those to send anew are returned. */
  const unheard = async (items: readonly Item[]): Promise<Item[]> => {
    try {
      const verdicts = await recognised(pool, agent, items);
      return items.filter((item, i) => {
        const verdict = verdicts[i] ?? "again";
        if (verdict !== "again") item.resolve(verdict);
        return verdict === "again";
      });
    } catch (e) {
      rejectAll(items, explained(e));
      return [];
    }
  };

  return (items) => submit(items, false, 0);
}

/** Tells those whose append landed; the rest is returned. */
function answered(items: readonly Item[], rows: readonly Row[]): { again: Item[]; conflicts: Item[] } {
  const again: Item[] = [];
  const conflicts: Item[] = [];
  for (const row of rows) {
    const item = items[row.ord];
    if (item === undefined) continue;
    if (row.outcome === "ok") item.resolve(ok(item, row.inbox_seq, row.status, row.rang));
    else if (row.outcome === "heard") item.resolve({ type: "heard", inboxSeq: row.inbox_seq });
    else if (row.outcome === "budget")
      item.resolve({ type: "budget", spent: { tokens: row.spent_tokens ?? 0, nanoUsd: row.spent_nano ?? 0 } });
    else (row.outcome === "again" ? again : conflicts).push(item);
  }
  return { again, conflicts };
}

function rejectAll(items: readonly Item[], error: TorenError): void {
  for (const item of items) item.reject(error);
}
