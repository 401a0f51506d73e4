-- A time of a schedule becomes a run: the run as create-run makes one, the fire, and the schedule's next time, all or nothing. Of several guardians that saw
-- the same time, the one that holds the schedule's row fires it; the others skip a row that is held, and find it moved on afterwards. The fire's primary key
-- says the same once more. Old fires go with new ones.
-- Locks: the schedule's row (SKIP LOCKED), then its own new rows.
-- $1 schedule uuid  $2 expected next ms float8  $3 fires at ms float8  $4 next ms float8 (null: never again)  $5 run uuid  $6 process  $7 input jsonb
-- $8 RunCreated's payload jsonb  $9 generation int  $10 code hash  $11 request digest  $12 mode  $13 cap tokens bigint  $14 cap nano dollars bigint
-- $15 trace context (or null)  $16 attributes jsonb  $17 what it is found by text[]  $18 grace ms int  $19 agent  $20 who is noted  $21 fires kept days int
-- $22 with which key it is sealed, wrapped (null: it is plain)
-- Returns a row if it fired.
WITH due AS MATERIALIZED (
  SELECT schedule_id FROM toren_control.schedules
  WHERE schedule_id = $1::uuid AND next_at = to_timestamp($2::float8 / 1000) AND next_at <= clock_timestamp() FOR UPDATE SKIP LOCKED
), moved AS (
  UPDATE toren_control.schedules s SET next_at = to_timestamp($4::float8 / 1000), problem = NULL FROM due WHERE s.schedule_id = due.schedule_id
), fired AS (
  INSERT INTO toren_control.schedule_fires (schedule_id, fire_at, run_id) SELECT schedule_id, to_timestamp($3::float8 / 1000), $5::uuid FROM due
), trimmed AS (
  DELETE FROM toren_control.schedule_fires f USING due
  WHERE f.schedule_id = due.schedule_id AND f.fire_at < to_timestamp($3::float8 / 1000) - $21::int * interval '1 day'
), run AS (
  INSERT INTO :agent.runs (run_id, process, input, generation, code_hash, request_digest, mode, trace_context, attributes, data_key)
  SELECT $5::uuid, $6::text, $7::jsonb, $9::int, $10::text, $11::text, $12::text, $15::text, $16::jsonb, $22::text FROM due
), terms AS (
  INSERT INTO :agent.run_terms (run_id, terms) SELECT $5::uuid, array_to_tsvector($17::text[]) FROM due
), stream AS (
  INSERT INTO :agent.streams (run_id, stream_id, head_seq, generation, wake_at)
  SELECT $5::uuid, 'run', 1, $9::int, clock_timestamp() + $18::int * interval '1 ms' FROM due
), event AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload) SELECT $5::uuid, 'run', 1, 'RunCreated', $8::jsonb FROM due
), budget AS (
  INSERT INTO :agent.budgets (run_id, cap_tokens, cap_nano)
  SELECT $5::uuid, $13::bigint, $14::bigint FROM due WHERE $13::bigint IS NOT NULL OR $14::bigint IS NOT NULL
), audited AS (
  INSERT INTO toren_control.audit (by_name, action, agent, run_id) SELECT $20::text, 'run.started', $19::text, $5::uuid FROM due
), indexed AS (
  INSERT INTO toren_control.run_index (run_id, agent) SELECT $5::uuid, $19::text FROM due
)
SELECT schedule_id FROM due
