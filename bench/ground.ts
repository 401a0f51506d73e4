// What the measured tables hold already. First everything is prepared, and used a little, on empty tables with autovacuum off: then the tables are filled.
// So the planner believes them empty, and cached plans were made for empty ones: stale. Later they are vacuumed and analysed, and connections begin anew: fresh.
import type { Pool } from "pg";
import { migrate } from "../shared/adapters/store/migrate.ts";

/** The agent whose tables most figures use, and those that only the guardian looks at. */
export const AGENT = "bench";
export const FEW = "bench_few";
export const MANY = "bench_many";
/** Whose runs are listed. */
export const LISTED = "bench_listed";
/** Whose runs begin while a worker of theirs is busy. */
export const BUSY = "bench_busy";

export interface Sizes {
  readonly runs: number;
  readonly tasksPerRun: number;
  readonly eventsPerTask: number;
  /** Parked streams that the guardian's two passes have below them. */
  readonly few: number;
  readonly many: number;
  /** Runs that lists have to look among. */
  readonly listed: number;
}

const TABLES = ["runs", "run_terms", "streams", "events", "inbox", "task_specs", "waves", "blobs"];
const tables = [
  ...[AGENT, FEW, MANY, LISTED].flatMap((agent) => TABLES.map((table) => `agent_${agent}.${table}`)),
  "bench.bare",
  "toren_control.queue_messages",
];

/** Empty tables. `bench.bare` is a table like the log's own, for the bare inserts. */
export async function prepare(pool: Pool): Promise<void> {
  await migrate({ pool }, [AGENT, FEW, MANY, LISTED, BUSY]);
  await pool.query("CREATE SCHEMA bench");
  await pool.query(`CREATE TABLE bench.bare (LIKE agent_${AGENT}.events INCLUDING ALL)`);
  for (const table of tables) await pool.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`);
  await pool.query(`ANALYZE ${tables.join(", ")}`);
}

export async function fill(pool: Pool, sizes: Sizes): Promise<void> {
  const schema = `agent_${AGENT}`;
  const { runs, tasksPerRun, eventsPerTask } = sizes;
  await pool.query(
    `WITH r AS MATERIALIZED (SELECT gen_random_uuid() AS run_id FROM generate_series(1, $1::int)),
     a AS (INSERT INTO ${schema}.runs (run_id, process, input, generation, code_hash, request_digest, ended, ended_at)
           SELECT run_id, 'main', '{}', 1, 'bench', 'd1:bench', 'completed', clock_timestamp() FROM r),
     b AS (INSERT INTO ${schema}.streams (run_id, stream_id, head_seq, status, outcome, generation)
           SELECT run_id, 'run', 1, 'ended', 'completed', 1 FROM r),
     t AS MATERIALIZED (SELECT run_id, 'w0t' || n AS task_id FROM r, generate_series(0, $2::int - 1) n),
     c AS (INSERT INTO ${schema}.task_specs (run_id, task_id, role, input, digest) SELECT run_id, task_id, 'worker', '{}', 'd1:bench' FROM t),
     d AS (INSERT INTO ${schema}.streams (run_id, stream_id, head_seq, status, outcome, generation, role, wave)
           SELECT run_id, 'task:' || task_id, $3::int, 'ended', 'completed', 1, 'worker', 0 FROM t),
     w AS (INSERT INTO ${schema}.waves (run_id, wave, on_failure, unsettled, signalled) SELECT run_id, 0, 'fail', 0, true FROM r),
     e AS MATERIALIZED (SELECT run_id, 'task:' || task_id AS stream_id, seq, 'ToolCallCompleted' AS type, ${PAYLOAD}::jsonb AS payload
                        FROM t, generate_series(1, $3::int) seq),
     f AS (INSERT INTO bench.bare (run_id, stream_id, seq, type, payload) SELECT * FROM e)
     INSERT INTO ${schema}.events (run_id, stream_id, seq, type, payload) SELECT * FROM e`,
    [runs, tasksPerRun, eventsPerTask],
  );
  await park(pool, FEW, sizes.few);
  await park(pool, MANY, sizes.many);
  await list(pool, sizes.listed);
}

const PAYLOAD = `jsonb_build_object('stepId', 's1', 'toolUseId', 'call_1', 'result', repeat('A row lock is held until its transaction ends. ', 5), 'isError', false)`;

/** Every second stream waits for a person, every other for tomorrow. */
async function park(pool: Pool, agent: string, streams: number): Promise<void> {
  await pool.query(
    `INSERT INTO agent_${agent}.streams (run_id, stream_id, head_seq, status, wait, wake_at, generation)
     SELECT gen_random_uuid(), 'run', 2, 'parked', CASE WHEN n % 2 = 0 THEN 'cut' ELSE 'timer' END,
            CASE WHEN n % 2 = 0 THEN NULL ELSE clock_timestamp() + interval '1 day' END, 1
     FROM generate_series(1, $1::int) n`,
    [streams],
  );
}

/** A second apart; one in twenty failed, one in fifty goes on. Words of all, of one in seven, of one in three hundred, and numbers. */
async function list(pool: Pool, runs: number): Promise<void> {
  const schema = `agent_${LISTED}`;
  await pool.query(
    `WITH r AS MATERIALIZED (SELECT gen_random_uuid() AS run_id, n FROM generate_series(1, $1::int) n),
     a AS (INSERT INTO ${schema}.runs (run_id, process, input, generation, code_hash, request_digest, ended, phase, created_at)
           SELECT run_id, 'main', '{}', 1, 'bench', 'd1:bench', CASE WHEN n % 20 = 0 THEN 'failed' WHEN n % 50 = 1 THEN NULL ELSE 'completed' END, 'running',
                  clock_timestamp() - n * interval '1 s' FROM r),
     b AS (INSERT INTO ${schema}.streams (run_id, stream_id, head_seq, status, wait, generation)
           SELECT run_id, 'run', 1, CASE WHEN n % 50 = 1 THEN 'parked' ELSE 'ended' END, CASE WHEN n % 50 = 1 THEN 'wave' END, 1 FROM r)
     INSERT INTO ${schema}.run_terms (run_id, terms)
     SELECT run_id, array_to_tsvector(ARRAY['order', 'customer', 't' || n % 7, 'w' || n % 300, (n % 1000)::text]) FROM r`,
    [runs],
  );
}

/** From now on the planner knows what the tables hold. */
export async function refresh(pool: Pool): Promise<void> {
  for (const table of tables) await pool.query(`ALTER TABLE ${table} RESET (autovacuum_enabled)`);
  for (const table of tables) await pool.query(`VACUUM (ANALYZE) ${table}`);
  await pool.query("CHECKPOINT").catch(() => {}); // not everybody may
}

/** Hints that a figure left behind concern no other. */
export const forgetHints = (pool: Pool): Promise<unknown> => pool.query("TRUNCATE toren_control.queue_messages");
