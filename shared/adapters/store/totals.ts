// Sums of what streams count, for metrics.
import { FIGURES_MAX } from "../../core/limits.ts";
import { LIVE_STATUSES } from "../../core/run-status.ts";
import type { Database } from "../../ports/database.ts";
import type { Totals } from "../../ports/totals.ts";
import { createStatements } from "./statements.ts";

interface FiguresRow {
  readonly runs_started: number;
  readonly runs_completed: number;
  readonly runs_failed: number;
  readonly runs_cancelled: number;
  readonly model_calls: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly cost_nano: number;
  readonly simulated_nano: number;
  readonly unpriced: number;
  readonly retries: number;
  readonly cuts: number;
  readonly replays: number;
  readonly live: readonly number[];
  readonly oldest_s: number;
}

export function createTotals(database: Pick<Database, "appends" | "pool">): Totals {
  const { change } = createStatements(database);
  return {
    add: async (agent, limit, takenMs) => {
      const [row] = await change<{ streams: number }>("count-streams", agent, [limit, takenMs]);
      return row?.streams ?? 0;
    },
    figures: async (agent) => {
      const [row] = await change<FiguresRow>("read-figures", agent, [LIVE_STATUSES, FIGURES_MAX]);
      if (row === undefined) throw new Error(`bug: the schema of ${agent} has no totals`);
      return {
        started: row.runs_started,
        ended: { completed: row.runs_completed, failed: row.runs_failed, cancelled: row.runs_cancelled },
        modelCalls: row.model_calls,
        tokensIn: row.tokens_in,
        tokensOut: row.tokens_out,
        nanoUsd: row.cost_nano,
        simulatedNanoUsd: row.simulated_nano,
        unpriced: row.unpriced,
        retries: row.retries,
        cuts: row.cuts,
        replays: row.replays,
        live: new Map(LIVE_STATUSES.map((status, i) => [status, row.live[i] ?? 0])),
        oldestReadyS: Math.max(0, row.oldest_s),
      };
    },
  };
}
