-- A run, whole or not at all: its row, its stream with RunCreated, its files, and its place in the index over all agents.
-- A second run under one idempotency key, or one id, raises 23505: find-run tells which it was.
-- Locks: its own new rows, and its files' rows FOR KEY SHARE: whoever removes one of them waits, and then sees this run. Who holds those for removing
-- waits for nobody, so no order is needed. A file that is gone already is no error here.
-- $1 run uuid  $2 process  $3 input jsonb  $4 generation int  $5 code hash  $6 idempotency key (or null)  $7 request digest
-- $8 RunCreated's payload jsonb  $9 file ids text[]  $10 agent  $11 grace ms int  $12 mode
-- $13 cap tokens bigint, $14 cap nano dollars bigint (both null: no budget)  $15 trace context (or null)
-- $16 attributes jsonb (null: none)  $17 what it is found by text[]  $18 who started it (null: nobody is noted)  $19 by which key uuid (or null)
-- $20 with which key it is sealed, wrapped (null: it is plain)
WITH run AS (
  INSERT INTO :agent.runs (run_id, process, input, generation, code_hash, idempotency_key, request_digest, mode, trace_context, attributes, data_key)
  VALUES ($1::uuid, $2::text, $3::jsonb, $4::int, $5::text, $6::text, $7::text, $12::text, $15::text, $16::jsonb, $20::text)
), terms AS (
  INSERT INTO :agent.run_terms (run_id, terms) VALUES ($1::uuid, array_to_tsvector($17::text[]))
), stream AS (
  INSERT INTO :agent.streams (run_id, stream_id, head_seq, generation, wake_at)
  VALUES ($1::uuid, 'run', 1, $4::int, clock_timestamp() + $11::int * interval '1 ms')
), event AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload) VALUES ($1::uuid, 'run', 1, 'RunCreated', $8::jsonb)
), budget AS (
  INSERT INTO :agent.budgets (run_id, cap_tokens, cap_nano)
  SELECT $1::uuid, $13::bigint, $14::bigint WHERE $13::bigint IS NOT NULL OR $14::bigint IS NOT NULL
), held AS MATERIALIZED (
  SELECT 1 FROM toren_control.files WHERE id = ANY ($9::text[]) FOR KEY SHARE
), files AS (
  INSERT INTO :agent.run_files (run_id, position, file_id)
  SELECT $1::uuid, f.i, f.id FROM unnest($9::text[]) WITH ORDINALITY AS f(id, i) WHERE (SELECT count(*) FROM held) >= 0 -- held by being counted
), audited AS (
  INSERT INTO toren_control.audit (by_name, key_id, action, agent, run_id)
  SELECT $18::text, $19::uuid, 'run.started', $10::text, $1::uuid WHERE $18::text IS NOT NULL
)
INSERT INTO toren_control.run_index (run_id, agent) VALUES ($1::uuid, $10::text)
