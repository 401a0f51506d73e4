-- A run that begins with a copy of another one's log, whole or not at all. Events are copied up to the heads that were looked at: they never change.
-- Idempotency keys in the copy are made new: what is done again under them is another effect, not the source's.
-- A second one under an idempotency key, or one id, raises 23505: find-run tells which it was.
-- What is sealed of the source is copied as it is, and with it the key that opens it.
-- Locks: its own new rows; of the source none.
-- $1 run uuid  $2 source uuid  $3 agent  $4 generation int  $5 code hash  $6 idempotency key (or null)  $7 request digest  $8 grace ms int
-- $9 stream ids text[]  $10 heads bigint[] (0: it begins anew)  $11 waves int[]  $12 statuses text[] ready|ended  $13 outcomes text[]
-- $14 more events of the run's own stream: types text[]  $15 payloads jsonb[]
-- $20 events of the run's own stream that are history
-- $16 waves int[]  $17 on_failure text[]  $18 unsettled int[]  $19 worked on at once int[] (null: no bound)
WITH source AS MATERIALIZED (
  SELECT r.process, r.mode, r.input, r.attributes, r.data_key, coalesce(r.root, r.run_id) AS root FROM :agent.runs r WHERE r.run_id = $2::uuid
), run AS (
  INSERT INTO :agent.runs (run_id, process, mode, input, generation, code_hash, idempotency_key, request_digest, attributes, forked_from, data_key)
  SELECT $1::uuid, s.process, s.mode, s.input, $4::int, $5::text, $6::text, $7::text, s.attributes, $2::uuid, s.data_key FROM source s
), terms AS (
  INSERT INTO :agent.run_terms (run_id, terms) SELECT $1::uuid, t.terms FROM :agent.run_terms t WHERE t.run_id = $2::uuid
), part AS MATERIALIZED (
  SELECT p.stream_id COLLATE "C" AS stream_id, p.head, p.wave, p.status, p.outcome,
         (SELECT coalesce(max((e.payload ->> 'inboxSeq')::bigint), 0) FROM :agent.events e
          WHERE e.run_id = $2::uuid AND e.stream_id = p.stream_id COLLATE "C" AND e.seq <= p.head AND e.payload ? 'inboxSeq') AS facts
  FROM source, unnest($9::text[], $10::bigint[], $11::int[], $12::text[], $13::text[]) AS p(stream_id, head, wave, status, outcome)
), streams AS (
  INSERT INTO :agent.streams (run_id, stream_id, head_seq, inbox_seq, status, outcome, role, wave, generation, copied_seq, wake_at, sealed_seq, sealed_facts)
  SELECT $1::uuid, p.stream_id, p.head + CASE WHEN p.stream_id = 'run' THEN cardinality($14::text[]) ELSE 0 END, p.facts, p.status, p.outcome,
         s.role, p.wave, $4::int, p.head, CASE WHEN p.status = 'ready' THEN clock_timestamp() + $8::int * interval '1 ms' END,
         CASE WHEN p.stream_id = 'run' THEN $20::bigint ELSE 0 END,
         CASE WHEN p.stream_id = 'run' THEN coalesce((SELECT (e.payload ->> 'absorbed')::bigint FROM :agent.events e -- its last part's beginning says it
           WHERE e.run_id = $2::uuid AND e.stream_id = 'run' AND e.seq = $20::bigint + 1 AND e.type = 'RunContinued'), 0) ELSE 0 END
  FROM part p JOIN :agent.streams s ON s.run_id = $2::uuid AND s.stream_id = p.stream_id
), copied AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload, recorded_at)
  SELECT $1::uuid, e.stream_id, e.seq, e.type,
         CASE WHEN e.type IN ('ToolCallStarted', 'StepStarted')
              THEN e.payload || jsonb_build_object('idempotencyKey', encode(sha256(convert_to($1::text || (e.payload ->> 'idempotencyKey'), 'UTF8')), 'hex'))
              ELSE e.payload END, e.recorded_at
  FROM part p JOIN :agent.events e ON e.run_id = $2::uuid AND e.stream_id = p.stream_id AND e.seq <= p.head
), added AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload)
  SELECT $1::uuid, 'run', p.head + a.i, a.type, a.payload
  FROM part p, unnest($14::text[], $15::jsonb[]) WITH ORDINALITY AS a(type, payload, i) WHERE p.stream_id = 'run'
), facts AS (
  INSERT INTO :agent.inbox (run_id, stream_id, seq, key, kind, payload, recorded_at)
  SELECT $1::uuid, i.stream_id, i.seq, i.key, i.kind, i.payload, i.recorded_at
  FROM part p JOIN :agent.inbox i ON i.run_id = $2::uuid AND i.stream_id = p.stream_id AND i.seq <= p.facts
), specs AS (
  INSERT INTO :agent.task_specs (run_id, task_id, role, input, digest)
  SELECT $1::uuid, t.task_id, t.role, t.input, t.digest
  FROM part p JOIN :agent.task_specs t ON t.run_id = $2::uuid AND p.stream_id = 'task:' || t.task_id ORDER BY t.ordinal
), waves AS (
  INSERT INTO :agent.waves (run_id, wave, on_failure, unsettled, signalled, max_parallel, reopened) -- its bell's last key may be in the copy
  SELECT $1::uuid, w.wave, w.on_failure, w.unsettled, w.unsettled = 0, w.max_parallel, v.reopened + 1
  FROM source, unnest($16::int[], $17::text[], $18::int[], $19::int[]) AS w(wave, on_failure, unsettled, max_parallel)
  JOIN :agent.waves v ON v.run_id = $2::uuid AND v.wave = w.wave
), blobs AS (
  INSERT INTO :agent.blobs (run_id, hash, bytes, content) SELECT $1::uuid, b.hash, b.bytes, b.content FROM :agent.blobs b WHERE b.run_id = $2::uuid
), budget AS (
  INSERT INTO :agent.budgets (run_id, cap_tokens, cap_nano) SELECT $1::uuid, b.cap_tokens, b.cap_nano FROM source s JOIN :agent.budgets b ON b.run_id = s.root
), files AS (
  INSERT INTO :agent.run_files (run_id, position, file_id) SELECT $1::uuid, f.position, f.file_id FROM :agent.run_files f WHERE f.run_id = $2::uuid
), index AS (
  INSERT INTO toren_control.run_index (run_id, agent) SELECT $1::uuid, $3::text FROM source
)
SELECT 1 AS made FROM source
