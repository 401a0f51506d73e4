// Runs that a run's workflow started, as their parent asks about them.
import type { TaskOutcome } from "../../core/events.ts";
import type { Json } from "../../core/json.ts";
import type { Below, ChildRow, ChildStore, RunStatus } from "../../ports/store.ts";
import { restoreAll } from "./blobs.ts";
import { type SpentRow, spentOf } from "./list-runs.ts";
import type { Statements } from "./statements.ts";

interface OutcomeRow {
  readonly run_id: string;
  readonly ended: string | null;
  readonly output: Json | null;
  readonly error: Json | null;
}

export const createChildren = (statements: Statements): ChildStore => ({
  outcomes: async (agent, parent, children) => {
    const rows = await statements.ask<OutcomeRow>("child-outcomes", agent, [parent, children]);
    const ended = rows.filter((row) => row.ended !== null);
    const values = ended.map((row) => ({
      runId: row.run_id,
      ...(row.ended === "completed" ? { value: row.output, place: "output" } : { value: row.error }),
    }));
    const restored = await restoreAll(statements, agent, values);
    return ended.map((row, i) => ({ runId: row.run_id, outcome: outcomeOf(row, restored[i] ?? null) }));
  },
  present: async (agent, parent, children) =>
    (await statements.ask<OutcomeRow>("child-outcomes", agent, [parent, children])).map((row) => row.run_id),
  claimable: async (agent, parent) =>
    (await statements.ask<{ run_id: string }>("claimable-children", agent, [parent])).map((row) => row.run_id),
  unrepeatable: async (agent, runs) => {
    const rows = await statements.ask<{ child: string; run_id: string; tool: string }>("unrepeatable-below", agent, [
      runs,
    ]);
    return rows.map(({ child, run_id, tool }) => ({ child, runId: run_id, tool }));
  },
  effects: async (agent, runs) => {
    const rows = await statements.ask<{ run_id: string; what: string }>("effects-below", agent, [runs]);
    return rows.map(({ run_id, what }) => ({ runId: run_id, what }));
  },
  open: async (agent, parent) =>
    (await statements.ask<{ run_id: string }>("open-children", agent, [parent])).map((row) => row.run_id),
  list: async (agent, parent, limit) => {
    const rows = await statements.ask<ListRow>("list-children", agent, [parent, limit]);
    return { children: rows.map(childRow), count: rows[0]?.count ?? 0 };
  },
  allBelow: async (agent, runId) =>
    (await statements.ask<{ run_id: string }>("list-below", agent, [runId])).map((row) => row.run_id),
  below: async (agent, runId) => {
    const [row] = await statements.ask<SpentRow & Pick<Below, "runs" | "waiting">>("spent-below", agent, [runId]);
    return row === undefined || row.runs === 0 ? null : { runs: row.runs, spent: spentOf(row), waiting: row.waiting };
  },
});

const outcomeOf = ({ ended }: OutcomeRow, value: Json): TaskOutcome =>
  ended === "completed"
    ? { status: "completed", output: value }
    : { status: "failed", error: value as unknown as Extract<TaskOutcome, { status: "failed" }>["error"] };

interface ListRow extends SpentRow {
  readonly run_id: string;
  readonly process: string;
  readonly status: RunStatus;
  readonly created_at: number;
  readonly ended_at: number | null;
  readonly count: number;
}

const childRow = (row: ListRow): ChildRow => ({
  runId: row.run_id,
  process: row.process,
  status: row.status,
  createdAt: row.created_at,
  endedAt: row.ended_at,
  spent: spentOf(row),
});
