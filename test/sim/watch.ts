// What is nobody's work, in the store's twin for the simulation: stalled streams, due times, forgotten ones.
import type { Watch } from "../../shared/ports/store.ts";
import { ask, type Connection } from "./connection.ts";
import { type Stream, streamKey, type Transaction } from "./database.ts";

export function createWatch(connection: Connection): Watch {
  return {
    due: (agent, limit, backOffMs) =>
      ask(connection, "due", (tx) => {
        const seen = streamsOf(tx, agent).filter((s) => s.wakeAt !== null && s.wakeAt <= tx.clock());
        const due = seen.sort((a, b) => (a.wakeAt ?? 0) - (b.wakeAt ?? 0)).slice(0, limit);
        return due.flatMap((s) => {
          if (!tx.tryLock(streamKey(s.runId, s.streamId))) return [];
          const live = s.status === "running" && (s.leaseUntil ?? 0) > tx.clock();
          tx.update({ ...s, wakeAt: live ? s.leaseUntil : tx.clock() + backOffMs });
          const { runId, streamId, role, attempts, soloAttempts } = s;
          return live ? [] : [{ runId, streamId, role, attempts, soloAttempts }];
        });
      }),
    audit: (agent, after, limit) =>
      ask(connection, "audit", (tx) => {
        const parked = streamsOf(tx, agent).filter((s) => s.status === "parked");
        const page = parked
          .map((s) => ({ s, place: `${s.runId}/${s.streamId}` }))
          .filter(({ place }) => after === null || place > after)
          .sort((a, b) => (a.place < b.place ? -1 : 1))
          .filter(({ s }) => tx.tryLock(streamKey(s.runId, s.streamId)))
          .slice(0, limit);
        const fixed = page.filter(({ s }) => forgotten(s));
        for (const { s } of fixed) tx.update({ ...s, status: "ready", wakeAt: tx.clock() });
        return {
          fixed: fixed.map(({ s }) => ({ runId: s.runId, streamId: s.streamId })),
          next: page.length === limit ? (page.at(-1)?.place ?? null) : null,
        };
      }),
    defer: ({ runId, streamId }, problem, afterMs) =>
      ask(connection, "defer", async (tx) => {
        if (!tx.sees(tx.db.stream(runId, streamId))) return;
        await tx.lock([streamKey(runId, streamId)]);
        const s = tx.db.stream(runId, streamId);
        const free = s !== undefined && (s.leaseOwner === null || (s.leaseUntil ?? 0) < tx.clock());
        if (free && s.status !== "ended") tx.update({ ...s, problem, wakeAt: tx.clock() + afterMs });
      }),
  };
}

const streamsOf = (tx: Transaction, agent: string): Stream[] =>
  [...tx.db.runs.values()].filter((r) => r.record.agent === agent).flatMap((r) => [...r.streams.values()]);
const forgotten = (s: Stream): boolean =>
  s.inboxSeq > s.absorbed || s.wait === null || (s.wakeAt === null && (s.wait === "timer" || s.wait === "retry"));
