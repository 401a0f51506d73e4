// The overview's reads.
import type { RunEvent } from "../../core/events.ts";
import { fromStored, type Json, type JsonObject } from "../../core/json.ts";
import {
  CRASHES_BEFORE_SOLO,
  FIGURES_MAX,
  OVERVIEW_LIVE_RUNS,
  OVERVIEW_STUCK_MAX,
  OVERVIEW_TAIL_EVENTS,
  OVERVIEW_WAITING_MAX,
  OVERVIEW_WAITING_RUNS,
  STUCK_AFTER_MS,
} from "../../core/limits.ts";
import { RUN_STATUSES } from "../../core/run-status.ts";
import { taskIdOf } from "../../core/stream-id.ts";
import type { Database } from "../../ports/database.ts";
import type { Overview, RunWaiting, StuckStream, WaitingCut } from "../../ports/overview.ts";
import type { RunStatus } from "../../ports/store.ts";
import { restoreAll } from "./blobs.ts";
import { createStatements } from "./statements.ts";
import { approvalOf } from "./tasks.ts";
import { pointers } from "./values.ts";

export function createOverview(database: Pick<Database, "appends" | "pool" | "sealer">): Overview {
  const statements = createStatements(database);
  const { ask, change } = statements;
  return {
    agents: async () => (await ask<{ agent: string }>("list-agents", null, [])).map((row) => row.agent),
    counts: async (agent) => {
      const rows = await change<{ status: RunStatus; count: number }>("count-runs", agent, [RUN_STATUSES, FIGURES_MAX]);
      return Object.fromEntries(rows.map((row) => [row.status, row.count]));
    },
    waiting: async (agent) => {
      const bounds = [OVERVIEW_WAITING_RUNS, OVERVIEW_TAIL_EVENTS, OVERVIEW_WAITING_MAX];
      const found = await statements.ask<WaitingRow>("list-waiting", agent, bounds);
      // Of calls' arguments people see the beginning here: large ones, megabytes each, stay where they are.
      const marked = found.map((row) => ({ ...row, large: pointers(row.payload).length > 0 }));
      const values = marked.map(({ run_id: runId, payload, type }) => ({
        runId,
        value: type === "ApprovalRequested" ? withoutArgs(payload) : payload,
      }));
      const payloads = await restoreAll(statements, agent, values, "say"); // who waits is shown without the key too
      const rows = marked.map((row, i) => ({ ...row, payload: payloads[i] ?? null }));
      return [...Map.groupBy(rows, (row) => row.run_id).values()].flatMap(waitingRun);
    },
    stuck: async (agent) => {
      const bounds = [OVERVIEW_LIVE_RUNS, CRASHES_BEFORE_SOLO, STUCK_AFTER_MS, OVERVIEW_STUCK_MAX];
      return (await ask<StuckRow>("list-stuck", agent, bounds)).map(stuckStream);
    },
    paidToday: async (agent) => {
      const [row] = await ask<{ nano: number; simulated: boolean }>("sum-paid", agent, []);
      return { nanoUsd: row?.nano ?? 0, simulated: row?.simulated ?? false };
    },
  };
}

interface WaitingRow {
  readonly run_id: string;
  readonly process: string;
  readonly status: RunStatus;
  readonly created_at: number;
  readonly stream_id: string;
  readonly type: "ApprovalRequested" | "CutRequested";
  readonly payload: Json;
  readonly recorded_at: number;
}
type ReadWaiting = WaitingRow & { readonly large: boolean };

const withoutArgs = (payload: Json): Json =>
  pointers(payload).length === 0 ? payload : { ...(payload as JsonObject), args: null };

function waitingRun(rows: readonly ReadWaiting[]): RunWaiting[] {
  const [first] = rows;
  if (first === undefined) return [];
  const approvals = rows.filter((row) => row.type === "ApprovalRequested");
  // A stream that has asked again waits for its last question.
  const cuts = new Map(rows.filter((row) => row.type === "CutRequested").map((row) => [row.stream_id, cutOf(row)]));
  return [
    {
      runId: first.run_id,
      process: first.process,
      status: first.status,
      createdAt: first.created_at,
      approvals: approvals.map((row) => ({
        ...approvalOf(
          { task_id: taskIdOf(row.stream_id) ?? row.stream_id, requested_at: row.recorded_at, decided_at: null },
          row.payload,
          null,
        ),
        large: row.large,
      })),
      cuts: [...cuts.values()],
    },
  ];
}

function cutOf({ stream_id, payload, recorded_at }: WaitingRow): WaitingCut {
  const asked = payload as unknown as Omit<Extract<RunEvent, { type: "CutRequested" }>, "type">;
  const { reason, calls, price, instead = null } = asked;
  return { stream: stream_id, reason, calls, price, instead, requestedAt: recorded_at };
}

interface StuckRow {
  readonly run_id: string;
  readonly process: string;
  readonly stream_id: string;
  readonly role: string | null;
  readonly attempts: number;
  readonly problem: Json | null;
  readonly why: StuckStream["why"];
  readonly since: number;
}

const stuckStream = (row: StuckRow): StuckStream => ({
  runId: row.run_id,
  process: row.process,
  streamId: row.stream_id,
  role: row.role,
  attempts: row.attempts,
  why: row.why,
  problem: row.problem === null ? null : (fromStored(row.problem) as unknown as StuckStream["problem"]),
  since: row.since,
});
