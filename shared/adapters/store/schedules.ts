// Schedules in the control schema; their runs in the schemas of their agents.
import { randomUUID } from "node:crypto";
import { nanoUsd } from "../../core/cost.ts";
import { digestOf } from "../../core/digest.ts";
import { fromStored, type Json, SEALED_KEY } from "../../core/json.ts";
import { GRACE_MS, SCHEDULE_FIRES_KEEP_DAYS, SCHEDULES_MAX } from "../../core/limits.ts";
import { sealedApart, sealedAway, UNOPENED } from "../../core/sealing.ts";
import { NO_ATTRIBUTES, termsOf } from "../../core/terms.ts";
import type { Database } from "../../ports/database.ts";
import type { CatchUp, Fire, NewSchedule, Schedule, Schedules } from "../../ports/schedules.ts";
import type { DataKey } from "../../ports/sealer.ts";
import type { NewRun } from "../../ports/store.ts";
import { openApart } from "./seals.ts";
import { createStatements } from "./statements.ts";
import { storedApart, storedContent, storedEvent } from "./values.ts";

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

export function createSchedules(database: Pick<Database, "appends" | "pool" | "sealer">): Schedules {
  const { ask, change, seals } = createStatements(database);
  const { sealer } = seals;
  const read = async (row: Row): Promise<Schedule> => {
    const problem = row.problem === null ? null : await openApart(sealer, asJson(row.problem), PROBLEM);
    return { ...scheduleOf(row, await openApart(sealer, row.input, INPUT)), problem: problem as string | null };
  };
  const get = async (id: string): Promise<Schedule | null> => {
    const [row] = await ask<Row>("list-schedules", null, [id]);
    return row === undefined ? null : await read(row);
  };
  /** It belongs to no run yet, so its input has a key of its own. */
  const columns = async ({ process, input, cron, zone, catchUp, nextAt }: NewSchedule): Promise<unknown[]> => [
    process,
    storedApart("The schedule's input", input, INPUT, await sealer.fresh(`schedule-${randomUUID()}`)).text,
    cron,
    zone,
    catchUp,
    nextAt,
  ];
  return {
    create: async (s) => {
      const values = [s.name, s.agent, ...(await columns(s)), s.createdBy, SCHEDULES_MAX];
      const [row] = await ask<Row>("create-schedule", null, values);
      return row === undefined ? null : await read(row);
    },
    get,
    list: async () => {
      const rows = await ask<Row>("list-schedules", null, [null]);
      return await Promise.all(
        rows.map(
          async (row) =>
            (await unlessAway(read(row))) ?? { ...scheduleOf(row, UNOPENED), problem: row.problem && UNOPENED },
        ),
      );
    },
    change: async (id, s) => {
      const changed = await ask("change-schedule", null, [id, s.name, ...(await columns(s))]);
      return changed.length === 0 ? null : await get(id);
    },
    remove: async (id) => (await ask("remove-schedule", null, [id])).length > 0,
    due: async (agents, limit) => {
      const rows = await ask<Row & { now: number }>("due-schedules", null, [agents, limit]);
      const schedules = await Promise.all(rows.map((row) => unlessAway(read(row))));
      // One that can't be opened here stays due, for a guardian that has its key.
      return { schedules: schedules.filter((schedule) => schedule !== null), now: rows[0]?.now ?? 0 };
    },
    // Repeated after a lost acknowledgement it finds the schedule moved on and answers no; the run is there, and the guardian's next look finds it.
    fire: async (fire, run) => {
      const values = fireValues(fire, run, await sealer.fresh(run.runId));
      return (await change("fire-schedule", run.agent, values)).length > 0;
    },
    skip: async (id, expected, next, problem) => {
      const key = problem === null ? null : await sealer.fresh(`schedule-${id}`); // it may quote the input
      const said = key === null ? problem : JSON.stringify(sealedApart(problem, key, PROBLEM));
      await ask("skip-schedule", null, [id, expected, next, said]);
    },
  };
}

const INPUT = "input";
const PROBLEM = "problem";

/** Of a column of text: what is sealed is an object there. */
const asJson = (text: string): Json => (text.startsWith(`{"${SEALED_KEY}"`) ? (JSON.parse(text) as Json) : text);

/** Null: its key isn't here. */
async function unlessAway<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (e) {
    if (sealedAway(e) === null) throw e;
    return null;
  }
}

/** A schedule's input is small, so nothing of it goes to blobs. */
function fireValues(
  { id, expected, at, next }: Fire,
  run: Omit<NewRun, "idempotencyKey" | "files">,
  key: DataKey | null,
): unknown[] {
  const { process, input, attributes = NO_ATTRIBUTES, budget } = run;
  return [
    id,
    expected,
    at,
    next,
    run.runId,
    process,
    storedContent("The run's input", input, INPUT, key).text,
    storedEvent({ type: "RunCreated", payload: { process, input } }, key).text,
    run.generation,
    run.codeHash,
    digestOf({ process, input, files: [] }),
    run.mode ?? "task",
    budget?.totalTokens ?? null,
    budget?.maxCostUsd == null ? null : nanoUsd(budget.maxCostUsd),
    run.traceContext ?? null,
    JSON.stringify(attributes),
    termsOf(key === null ? input : null, attributes),
    GRACE_MS,
    run.agent,
    run.startedBy?.by ?? "schedule",
    SCHEDULE_FIRES_KEEP_DAYS,
    key?.wrapped ?? null,
  ];
}

const scheduleOf = (row: Row, input: Json): Schedule => ({
  id: row.schedule_id,
  name: row.name,
  agent: row.agent,
  process: row.process,
  input: fromStored(input),
  cron: row.cron,
  zone: row.zone,
  catchUp: row.catch_up,
  nextAt: row.next_at,
  createdAt: row.created_at,
  createdBy: row.created_by,
  last: row.last_at === null || row.last_run === null ? null : { at: row.last_at, runId: row.last_run },
  problem: row.problem,
});
