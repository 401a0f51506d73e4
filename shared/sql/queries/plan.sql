-- Plan or re-plan waves: the run stream's append, the waves' rows, their specs and task streams, and the claims: one statement, all or nothing.
-- Children begin as create-run makes a run, in this very statement: with the event that starts them, or not at all. Their ids are made of the event's place,
-- so whoever repeats the statement starts no second one.
-- Locks as in append-full: the run's row, then the claimed tasks' rows, in (run_id, stream_id); waves are inserted; the runs row last. So a task that
-- settles meanwhile is before or after, never in between. `unsettled` is counted here, from the locked rows: a count made in the worker from an earlier
-- read loses the wave. A claimed task that hasn't ended gets a fact: it may hold, or be about to (its hold is in the inbox before the claim then).
-- New tasks are of the run's generation (I7): older code must not begin what newer code planned.
-- $1 run  $2 head  $3 epoch  $4 event types text[]  $5 payloads jsonb[]  $6 progress bool  $7 lease ms int  $8 grace ms int
-- $9 waves int[]  $10 on_failure text[]  $18 tasks worked on at once int[] (null: no bound)
-- $19 cuts among the events int
-- $11 wave int[]  $12 task id text[]  $13 role text[]  $14 input jsonb[]  $15 digest text[]      (a new task each)
-- $16 wave int[]  $17 task id text[]                                                            (a claimed task each)
-- $20 run uuid[]  $21 process text[]  $22 mode text[]  $23 input jsonb[]  $24 RunCreated's payload jsonb[]  $25 digest text[]  $26 what it is found by jsonb[]
-- $27 code hash text  $28 agent  $29 with which key it is sealed, wrapped text[] (null: it is plain)   (a child each)
-- Returns one row, or none: head or epoch was not as expected. `complete`: waves decided already, for which no bell will come.
WITH locked AS MATERIALIZED (
  SELECT s.stream_id, s.status, s.outcome, s.head_seq, s.lease_epoch, s.lease_owner, s.wait, s.generation FROM :agent.streams s
  WHERE s.run_id = $1::uuid AND s.stream_id = ANY (ARRAY['run'] || (SELECT coalesce(array_agg('task:' || x), '{}') FROM unnest($17::text[]) x))
  ORDER BY s.run_id, s.stream_id FOR UPDATE
), go AS MATERIALIZED (
  SELECT head_seq, wait, generation FROM locked
  WHERE stream_id = 'run' AND head_seq = $2::bigint AND lease_epoch = $3::bigint AND lease_owner IS NOT NULL
), claim AS MATERIALIZED (
  SELECT c.wave, l.stream_id, l.status, l.outcome
  FROM go, unnest($16::int[], $17::text[]) AS c(wave, id) JOIN locked l ON l.stream_id = 'task:' || c.id
), moved AS (                                      -- the one UPDATE of streams: the run's own row and the claimed tasks'
  UPDATE :agent.streams s SET
    head_seq = s.head_seq + CASE WHEN k.wave IS NULL THEN cardinality($4::text[]) ELSE 0 END,
    wave = coalesce(k.wave, s.wave),
    inbox_seq = s.inbox_seq + CASE WHEN k.wave IS NOT NULL AND s.status <> 'ended' THEN 1 ELSE 0 END,
    wake_at = CASE WHEN k.wave IS NOT NULL AND s.status = 'parked' THEN clock_timestamp() + $8::int * interval '1 ms' ELSE s.wake_at END,
    status = CASE WHEN k.wave IS NOT NULL AND s.status = 'parked' THEN 'ready' ELSE s.status END,
    lease_until = CASE WHEN k.wave IS NULL THEN clock_timestamp() + $7::int * interval '1 ms' ELSE s.lease_until END,
    wait = CASE WHEN k.wave IS NULL THEN NULL ELSE s.wait END,
    attempts = CASE WHEN k.wave IS NULL AND $6::bool THEN 0 ELSE s.attempts END,
    solo_attempts = CASE WHEN k.wave IS NULL AND $6::bool THEN 0 ELSE s.solo_attempts END,
    problem = CASE WHEN k.wave IS NULL THEN NULL ELSE s.problem END,
    cuts = s.cuts + CASE WHEN k.wave IS NULL THEN $19::int ELSE 0 END
  FROM (SELECT 'run' COLLATE "C" AS stream_id, NULL::int AS wave FROM go UNION ALL SELECT stream_id, wave FROM claim) k
  WHERE s.run_id = $1::uuid AND s.stream_id = k.stream_id
  RETURNING s.stream_id, s.inbox_seq, s.status, k.wave
), written AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload)
  SELECT $1::uuid, 'run', go.head_seq + e.i, e.type, e.payload FROM go, unnest($4::text[], $5::jsonb[]) WITH ORDINALITY AS e(type, payload, i)
), fresh AS MATERIALIZED (
  SELECT f.wave, f.id, f.role, f.input, f.digest
  FROM go, unnest($11::int[], $12::text[], $13::text[], $14::jsonb[], $15::text[]) AS f(wave, id, role, input, digest)
), specs AS (
  INSERT INTO :agent.task_specs (run_id, task_id, role, input, digest) SELECT $1::uuid, id, role, input, digest FROM fresh
), born AS (
  INSERT INTO :agent.streams (run_id, stream_id, wave, role, generation, wake_at)
  SELECT $1::uuid, 'task:' || id, wave, role, go.generation, clock_timestamp() + $8::int * interval '1 ms' FROM go, fresh
), child AS MATERIALIZED (
  SELECT c.*, r.attributes, r.trace_context, coalesce(r.root, r.run_id) AS root, go.generation
  FROM go JOIN :agent.runs r ON r.run_id = $1::uuid,
       unnest($20::uuid[], $21::text[], $22::text[], $23::jsonb[], $24::jsonb[], $25::text[], $26::jsonb[], $29::text[])
         AS c(run_id, process, mode, input, created, digest, terms, data_key)
), child_runs AS (
  INSERT INTO :agent.runs (run_id, process, mode, input, generation, code_hash, request_digest, trace_context, attributes, parent, root, data_key)
  SELECT run_id, process, mode, input, generation, $27::text, digest, trace_context, attributes, $1::uuid, root, data_key FROM child
), child_terms AS (
  INSERT INTO :agent.run_terms (run_id, terms) SELECT c.run_id, array_to_tsvector(ARRAY(SELECT jsonb_array_elements_text(c.terms)) -- and its parent's attributes, which it has too
    || ARRAY(SELECT x FROM :agent.run_terms p, unnest(tsvector_to_array(p.terms)) AS x WHERE p.run_id = $1::uuid AND x LIKE '@%'))
  FROM child c
), child_streams AS (
  INSERT INTO :agent.streams (run_id, stream_id, head_seq, generation, wake_at)
  SELECT run_id, 'run', 1, generation, clock_timestamp() + $8::int * interval '1 ms' FROM child
), child_events AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload) SELECT run_id, 'run', 1, 'RunCreated', created FROM child
), child_files AS (
  INSERT INTO :agent.run_files (run_id, position, file_id)
  SELECT c.run_id, f.position, f.file_id FROM child c, :agent.run_files f WHERE f.run_id = $1::uuid
), child_index AS (
  INSERT INTO toren_control.run_index (run_id, agent) SELECT run_id, $28::text FROM child
), posted AS (
  INSERT INTO :agent.inbox (run_id, stream_id, seq, key, kind, payload)
  SELECT $1::uuid, m.stream_id, m.inbox_seq, 'claim:' || m.wave, 'claim', jsonb_build_object('kind', 'claim', 'wave', m.wave)
  FROM moved m WHERE m.wave IS NOT NULL AND m.status <> 'ended'
), counts AS MATERIALIZED (
  SELECT v.wave, v.on_failure, v.max_parallel,
         (SELECT count(*) FROM fresh f WHERE f.wave = v.wave)::int + (SELECT count(*) FROM claim c WHERE c.wave = v.wave AND c.status <> 'ended')::int AS unsettled,
         v.on_failure = 'fail' AND EXISTS (SELECT 1 FROM claim c WHERE c.wave = v.wave AND c.status = 'ended' AND c.outcome <> 'completed') AS broke
  FROM go, unnest($9::int[], $10::text[], $18::int[]) AS v(wave, on_failure, max_parallel)
), waved AS (
  INSERT INTO :agent.waves (run_id, wave, on_failure, unsettled, signalled, max_parallel)
  SELECT $1::uuid, wave, on_failure, unsettled, unsettled = 0 OR broke, max_parallel FROM counts
), stated AS (                                     -- the run goes on: its cached status with it; last, and only after the stream rows have moved
  UPDATE :agent.runs r SET waiting_cut = r.waiting_cut - (go.wait = 'cut')::int, phase = 'running'
  FROM go JOIN moved m ON m.stream_id = 'run' AND go.wait IN ('cut', 'timer', 'retry', 'signal') WHERE r.run_id = $1::uuid
)
SELECT m.inbox_seq, (SELECT coalesce(array_agg(wave ORDER BY wave), '{}') FROM counts WHERE unsettled = 0 OR broke) AS complete
FROM moved m WHERE m.stream_id = 'run'
