// What ticks and tasks read about tasks.

import type { Fact, TaskEvent, TaskOutcome } from "../../core/events.ts";
import { type Json, jsonBytes } from "../../core/json.ts";
import { PAYLOAD_MAX_BYTES, SNAPSHOT_MAX_BYTES } from "../../core/limits.ts";
import { taskIdOf } from "../../core/stream-id.ts";
import { textOf } from "../../core/task/history.ts";
import { budgetOf } from "../../core/task/ledger.ts";
import { FOLD_VERSION } from "../../core/task/snapshot.ts";
import type { PendingApproval, TaskStore, Wait } from "../../ports/store.ts";
import { restoreAll } from "./blobs.ts";
import { openAndRead } from "./seals.ts";
import type { Statements } from "./statements.ts";
import { storedApart, storedContent } from "./values.ts";

export function createTasks(statements: Statements): TaskStore {
  return {
    keepHeader: async (agent, { digest, ...header }) => {
      // Whole in its row, however large: blobs belong to runs.
      const value = header as unknown as Json;
      const key = await statements.seals.sealer.fresh(idOf(digest));
      const stored = storedApart("What the task's requests begin with", value, "header", key);
      await statements.ask("keep-header", agent, [digest, stored.text]);
    },
    spec: async ({ agent, runId, streamId }) => {
      const taskId = taskIdOf(streamId) ?? streamId;
      const [row] = await statements.ask<SpecRow>("read-spec", agent, [runId, taskId]);
      if (row === undefined) return null;
      const [input] = await restoreAll(statements, agent, [{ runId, value: row.input, place: "input" }]);
      const { role, session, digest } = row;
      const wave = row.wave === null ? null : { number: row.wave, maxParallel: row.max_parallel };
      const budget = budgetOf(row.cap_tokens, row.cap_nano);
      return { taskId, role, session, wave, input: input ?? null, digest, budget };
    },
    ...snapshots(statements),
    digests: async (agent, runId) => {
      const rows = await statements.ask<{ task_id: string; digest: string }>("list-digests", agent, [runId]);
      return rows.map((row) => ({ taskId: row.task_id, digest: row.digest }));
    },
    outcomes: async (agent, runId, taskIds) => {
      const rows = await statements.ask<{ task_id: string; payload: Json }>("read-outcomes", agent, [runId, taskIds]);
      const payloads = await restoreAll(
        statements,
        agent,
        rows.map((row) => ({ runId, value: row.payload })),
      );
      return rows.map((row, i) => ({ taskId: row.task_id, outcome: outcomeOf(payloads[i] as TerminalPayload) }));
    },
    unrepeatable: async (agent, runId, taskIds) => {
      const rows = await statements.ask<{ task_id: string; tool: string }>("list-unrepeatable", agent, [
        runId,
        taskIds,
      ]);
      return rows.map((row) => ({ taskId: row.task_id, tool: row.tool }));
    },
    price: async (agent, runId, taskIds, children) => {
      const [row] = await statements.ask<{ calls: number; usd: number | null; simulated: boolean }>(
        "price-of-tasks",
        agent,
        [runId, taskIds, children],
      );
      return { modelCalls: row?.calls ?? 0, usd: row?.usd ?? null, simulated: row?.simulated ?? false };
    },
    approvals: (agent, runId) => approvals(statements, agent, runId),
    turns: async (agent, runId, { before, limit }) => {
      const rows = await statements.ask<TurnRow>("list-turns", agent, [runId, before, limit]);
      const said = rows.filter((row) => row.seq !== null); // one row comes without a turn, so that the count does
      const payloads = await restoreAll(
        statements,
        agent,
        said.map((row) => ({ runId, value: row.payload })),
      );
      const turns = said.map(({ seq, by, at }, i) => ({
        seq: seq ?? 0,
        by,
        text: turnText(payloads[i] as TurnPayload),
        at,
      }));
      return { turns, count: rows[0]?.count ?? 0 };
    },
    open: async (agent, runId) => {
      const rows = await statements.ask<{ task_id: string; wait: Wait | null }>("list-open-tasks", agent, [runId]);
      return rows.map((row) => ({ taskId: row.task_id, wait: row.wait }));
    },
  };
}

async function approvals(statements: Statements, agent: string, runId: string): Promise<PendingApproval[]> {
  const rows = await statements.ask<ApprovalRow>("list-approvals", agent, [runId]);
  const values = rows.flatMap(({ payload, decision }) => [payload, decision].map((value) => ({ runId, value })));
  const whole = await restoreAll(statements, agent, values);
  return rows.map((row, i) => approvalOf(row, whole[2 * i] ?? null, whole[2 * i + 1] ?? null));
}

const snapshots = (statements: Statements): Pick<TaskStore, "snapshot" | "keepSnapshot"> => ({
  snapshot: async ({ agent, runId, streamId }) => {
    const [row] = await statements.ask<{ seq: number; absorbed: number; state: Json }>("read-snapshot", agent, [
      runId,
      streamId,
      FOLD_VERSION,
    ]);
    if (row === undefined) return null;
    const [state = null] = await openAndRead(statements.seals, agent, [{ runId, value: row.state, place: "state" }]);
    return { ...row, state };
  },
  keepSnapshot: async ({ agent, runId, streamId }, { seq, absorbed, state }) => {
    if (jsonBytes(state) > SNAPSHOT_MAX_BYTES) return;
    const key = await statements.seals.toWrite(agent, runId);
    const { text } = storedContent("The session's state", state, "state", key, PAYLOAD_MAX_BYTES);
    await statements.ask("keep-snapshot", agent, [runId, streamId, seq, FOLD_VERSION, absorbed, text]);
  },
});

/** A digest as a name: `d1:…` has a colon. */
const idOf = (digest: string): string => digest.replaceAll(/[^\w-]/g, "-");

interface SpecRow {
  readonly role: string;
  readonly input: Json;
  readonly digest: string;
  readonly session: boolean;
  readonly wave: number | null;
  readonly max_parallel: number | null;
  readonly cap_tokens: number | null;
  readonly cap_nano: number | null;
}

export interface ApprovalRow {
  readonly task_id: string;
  readonly payload: Json;
  readonly requested_at: number;
  readonly decision: Json | null;
  readonly decided_at: number | null;
}

/** Of a row, with its payloads as they were. */
export function approvalOf(
  row: Pick<ApprovalRow, "task_id" | "requested_at" | "decided_at">,
  payload: Json,
  fact: Json,
): PendingApproval {
  const asked = payload as unknown as Omit<TaskEvent & { type: "ApprovalRequested" }, "type">;
  const decision = fact as unknown as (Fact & { kind: "decision" }) | null;
  const { toolUseId, tool, args, key } = asked;
  return {
    taskId: row.task_id,
    toolUseId,
    tool,
    args,
    key,
    reason: asked.reason ?? "approval",
    requestedAt: row.requested_at,
    expiresAt: asked.expiresAt ?? null,
    decided: decision && {
      granted: decision.granted,
      by: decision.by,
      comment: decision.comment,
      at: row.decided_at ?? 0,
    },
  };
}

interface TurnRow {
  readonly count: number;
  readonly seq: number | null;
  readonly by: "user" | "agent";
  readonly payload: Json;
  readonly at: number;
}
/** Of InputRequested and UserMessage, or of TaskCompleted. */
type TurnPayload = { readonly text?: string; readonly result?: Json };
const turnText = ({ text, result }: TurnPayload): string => text ?? textOf(result ?? null);

/** Of TaskCompleted, or of TaskFailed and TaskCancelled. */
type TerminalPayload = { readonly result?: Json; readonly error?: Extract<TaskOutcome, { status: "failed" }>["error"] };

const outcomeOf = ({ result, error }: TerminalPayload): TaskOutcome =>
  error === undefined ? { status: "completed", output: result ?? null } : { status: "failed", error };
