// A failed run that goes on: the statement of whoever retries it, and the tick's.
import type { Pool } from "pg";
import { nanoUsd } from "../../core/cost.ts";
import { toStored } from "../../core/json.ts";
import { GRACE_MS } from "../../core/limits.ts";
import type { Reopened, Reopening, RetryStore } from "../../ports/store.ts";
import { writeBlobs } from "./blobs.ts";
import { explained, repeatable, type Statements } from "./statements.ts";
import { storedEvent } from "./values.ts";

const byOf = (by: string): string => JSON.stringify(toStored({ by }));

export const createRetries = (pool: Pool, statements: Statements): RetryStore => ({
  retry: async ({ agent, runId }, { head, by, caps }) => {
    const { totalTokens, maxCostUsd } = caps;
    const values = [runId, head, byOf(by), GRACE_MS, totalTokens, maxCostUsd === null ? null : nanoUsd(maxCostUsd)];
    try {
      const { rows, doubtful } = await repeatable(pool, "retry-run", agent, values, true);
      if (rows.length > 0 || !doubtful) return rows.length > 0;
    } catch (e) {
      throw explained(e);
    }
    // Its answer was lost. If a retry stands at this place the run goes on, whoever's it was.
    const [next] = await statements.ask<{ type: string }>("read-events", agent, [runId, "run", head, 1]);
    return next?.type === "StreamInvalidated";
  },
  reopen: async (append) => {
    const { agent, runId } = append.lease.stream;
    const key = await statements.seals.toWrite(agent, runId);
    const events = append.events.map((e) => storedEvent(e, key));
    await writeBlobs(
      statements,
      agent,
      runId,
      events.flatMap((e) => e.blobs),
    );
    const values = [
      runId,
      append.head,
      append.lease.epoch,
      append.events.map((e) => e.type),
      events.map((e) => e.text),
      append.lease.leaseMs,
      GRACE_MS,
      append.tasks,
      append.answers,
      append.generation,
      byOf(append.by),
      append.children,
    ];
    try {
      const answer = await repeatable<{ inbox_seq: number }>(pool, "reopen", agent, values, true);
      const [row] = answer.rows;
      if (row !== undefined) return ok(append, row.inbox_seq);
      return answer.doubtful ? await recognised(statements, append) : { type: "conflict" };
    } catch (e) {
      throw explained(e);
    }
  },
});

const ok = ({ head, events }: Reopening, inboxSeq: number): Reopened => ({
  type: "ok",
  head: head + events.length,
  inboxSeq,
});

/** Whether a repeated one that met a conflict had landed the first time: under my epoch nobody but me writes. */
async function recognised(statements: Statements, append: Reopening): Promise<Reopened> {
  const { agent, runId } = append.lease.stream;
  const [seen] = await statements.change<{ head_seq: number; lease_epoch: number; inbox_seq: number }>(
    "read-plan",
    agent,
    [runId, []],
  );
  const mine = seen?.lease_epoch === append.lease.epoch && seen.head_seq === append.head + append.events.length;
  return mine ? ok(append, seen.inbox_seq) : { type: "conflict" };
}
