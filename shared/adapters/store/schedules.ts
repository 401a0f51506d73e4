// Schedules in the control schema; their runs in the schemas of their agents.
import { nanoUsd } from "../../core/cost.ts";
import { digestOf } from "../../core/digest.ts";
import { fromStored, type Json } from "../../core/json.ts";
import { GRACE_MS, SCHEDULE_FIRES_KEEP_DAYS, SCHEDULES_MAX } from "../../core/limits.ts";
import { NO_ATTRIBUTES, termsOf } from "../../core/terms.ts";
import type { Database } from "../../ports/database.ts";
import type { CatchUp, Fire, NewSchedule, Schedule, Schedules } from "../../ports/schedules.ts";
import type { NewRun } from "../../ports/store.ts";
import { createStatements } from "./statements.ts";
import { storedObject, storedValue } from "./values.ts";

interface Row {
  readonly schedule_id: string;
  readonly name: string;
  readonly agent: string;
  readonly process: string;
  readonly input: Json;
  readonly cron: string;
  readonly zone: string;
  readonly catch_up: CatchUp;
  readonly problem: string | null;
  readonly created_by: string;
  readonly created_at: number;
  readonly next_at: number | null;
  readonly last_at: number | null;
  readonly last_run: string | null;
}

export function createSchedules(database: Pick<Database, "appends" | "pool">): Schedules {
  const { ask, change } = createStatements(database);
  const get = async (id: string): Promise<Schedule | null> => {
    const [row] = await ask<Row>("list-schedules", null, [id]);
    return row === undefined ? null : schedule(row);
  };
  return {
    create: async (s) => {
      const values = [s.name, s.agent, ...columns(s), s.createdBy, SCHEDULES_MAX];
      const [row] = await ask<Row>("create-schedule", null, values);
      return row === undefined ? null : schedule(row);
    },
    get,
    list: async () => (await ask<Row>("list-schedules", null, [null])).map(schedule),
    change: async (id, s) => {
      const changed = await ask("change-schedule", null, [id, s.name, ...columns(s)]);
      return changed.length === 0 ? null : await get(id);
    },
    remove: async (id) => (await ask("remove-schedule", null, [id])).length > 0,
    due: async (agents, limit) => {
      const rows = await ask<Row & { now: number }>("due-schedules", null, [agents, limit]);
      return { schedules: rows.map(schedule), now: rows[0]?.now ?? 0 };
    },
    // Repeated after a lost acknowledgement it finds the schedule moved on and answers no; the run is there, and the guardian's next look finds it.
    fire: async (fire, run) => (await change("fire-schedule", run.agent, fireValues(fire, run))).length > 0,
    skip: async (id, expected, next, problem) => void (await ask("skip-schedule", null, [id, expected, next, problem])),
  };
}

const columns = ({ process, input, cron, zone, catchUp, nextAt }: NewSchedule): unknown[] => [
  process,
  storedValue("The schedule's input", input).text,
  cron,
  zone,
  catchUp,
  nextAt,
];

/** A schedule's input is small, so nothing of it goes to blobs. */
function fireValues({ id, expected, at, next }: Fire, run: Omit<NewRun, "idempotencyKey" | "files">): unknown[] {
  const { process, input, attributes = NO_ATTRIBUTES, budget } = run;
  return [
    id,
    expected,
    at,
    next,
    run.runId,
    process,
    storedValue("The run's input", input).text,
    storedObject("The event RunCreated", { process, input }).text,
    run.generation,
    run.codeHash,
    digestOf({ process, input, files: [] }),
    run.mode ?? "task",
    budget?.totalTokens ?? null,
    budget?.maxCostUsd == null ? null : nanoUsd(budget.maxCostUsd),
    run.traceContext ?? null,
    JSON.stringify(attributes),
    termsOf(input, attributes),
    GRACE_MS,
    run.agent,
    run.startedBy?.by ?? "schedule",
    SCHEDULE_FIRES_KEEP_DAYS,
  ];
}

const schedule = (row: Row): Schedule => ({
  id: row.schedule_id,
  name: row.name,
  agent: row.agent,
  process: row.process,
  input: fromStored(row.input),
  cron: row.cron,
  zone: row.zone,
  catchUp: row.catch_up,
  nextAt: row.next_at,
  createdAt: row.created_at,
  createdBy: row.created_by,
  last: row.last_at === null || row.last_run === null ? null : { at: row.last_at, runId: row.last_run },
  problem: row.problem,
});
