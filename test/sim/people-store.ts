// What the store's twin for the simulation reads for people: calls that wait for them, and what was said in a session.
import { textOf } from "../../shared/core/task/history.ts";
import type { PendingApproval, SaidTurn, SaidTurns } from "../../shared/ports/store.ts";
import type { Event, Transaction } from "./database.ts";
import { stored } from "./stored.ts";

const TASK = "task:";

/** Decided ones, and those that open tasks wait for; what a later cut took away concerns nobody. */
export function approvals(tx: Transaction, runId: string): PendingApproval[] {
  const run = tx.db.run(runId);
  return [...(run?.events ?? [])]
    .flatMap(([streamId, log]) =>
      log.flatMap((e) => {
        const asked = e.type === "ApprovalRequested" && !isCut(e, log) ? approval(tx, runId, streamId, e) : null;
        return asked === null ? [] : [{ asked, place: `${streamId} ${String(e.seq).padStart(9, "0")}` }];
      }),
    )
    .sort((a, b) => a.asked.requestedAt - b.asked.requestedAt || (a.place < b.place ? -1 : 1))
    .map(({ asked }) => asked);
}

const isCut = (event: Event, log: readonly Event[]): boolean =>
  log.some((c) => c.type === "StreamInvalidated" && c.seq > event.seq && Number(c.payload.fromSeq) <= event.seq);

type Asked = Pick<PendingApproval, "toolUseId" | "tool" | "args" | "key"> & {
  readonly expiresAt?: number;
  readonly reason?: "unknownOutcome";
};
type Said = Omit<NonNullable<PendingApproval["decided"]>, "at">;

function approval(tx: Transaction, runId: string, streamId: string, event: Event): PendingApproval | null {
  const { toolUseId, tool, args, key, expiresAt, reason } = stored(event.payload) as unknown as Asked;
  const facts = tx.db.run(runId)?.inbox.get(streamId) ?? [];
  const decision = facts.find((f) => f.key === `decision:${key}`);
  if (decision === undefined && tx.db.stream(runId, streamId)?.status === "ended") return null;
  const { granted, by, comment } = (stored(decision?.payload ?? null) ?? {}) as unknown as Said;
  return {
    taskId: streamId.slice(TASK.length),
    toolUseId,
    tool,
    args,
    key,
    reason: reason ?? "approval",
    requestedAt: event.recordedAt,
    expiresAt: expiresAt ?? null,
    decided: decision === undefined ? null : { granted, by, comment, at: decision.recordedAt },
  };
}

export function turns(tx: Transaction, runId: string, page: { before: number | null; limit: number }): SaidTurns {
  const log = tx.db.run(runId)?.events.get("task:w0t0") ?? [];
  let answered = false;
  const said = log.flatMap((e): SaidTurn[] => {
    if (e.type === "LlmCallCompleted") answered = true;
    const { text, result } = stored(e.payload) as { text?: string; result?: string };
    const turn = { seq: e.seq, text: text ?? textOf(result ?? null), at: e.recordedAt };
    if (e.type === "UserMessage") return turn.text.trim() === "" ? [] : [{ ...turn, by: "user" }];
    if (e.type !== "InputRequested" && (e.type !== "TaskCompleted" || !answered)) return [];
    answered = false;
    return [{ ...turn, by: "agent" }];
  });
  const before = said.filter((turn) => page.before === null || turn.seq < page.before);
  return { turns: before.reverse().slice(0, page.limit), count: said.length };
}
