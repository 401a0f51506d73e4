-- After a retry the tick opens operations again: the run's own append, and of its waves the tasks that ended otherwise than completed go on. Each task's
-- terminal event is cut, its wave counts it again and has told nobody (`signalled`): one statement, all or nothing.
-- A task goes on before the tries of its last question, if those failed: their count starts anew. Where the answer itself was the failure (a refusal),
-- before that question: it is asked again. Nothing that a tool did is cut, and no call that its provider is still working on (goesOn).
-- Children that failed or were cancelled go on as by retry-run, each under an epoch of its own, and find out themselves what of theirs is done again. Their
-- tasks are at rest: retry-run saw to it, and nobody but this statement has them go on.
-- Locks as in append-full: the run's row, the tasks' rows and the children's own, in (run_id, stream_id); then their waves; the runs rows last.
-- $1 run  $2 head  $3 epoch  $4 event types text[]  $5 payloads jsonb[]  $6 lease ms int  $7 grace ms int
-- $8 task ids text[]  $9 codes of errors that an answer is text[]  $10 generation int  $11 retry jsonb (who)
-- $12 children uuid[]
-- Returns one row, or none: head or epoch was not as expected.
WITH locked AS MATERIALIZED (
  SELECT s.run_id, s.stream_id, s.status, s.outcome, s.head_seq, s.inbox_seq, s.lease_epoch, s.lease_owner, s.wait, s.wave, s.generation FROM :agent.streams s
  WHERE (s.run_id = $1::uuid AND s.stream_id = ANY (ARRAY['run'] || (SELECT coalesce(array_agg('task:' || x), '{}') FROM unnest($8::text[]) x)))
     OR (s.run_id = ANY ($12::uuid[]) AND s.stream_id = 'run')
  ORDER BY s.run_id, s.stream_id FOR UPDATE
), go AS MATERIALIZED (
  SELECT head_seq, wait FROM locked
  WHERE run_id = $1::uuid AND stream_id = 'run' AND head_seq = $2::bigint AND lease_epoch = $3::bigint AND lease_owner IS NOT NULL
), again AS MATERIALIZED (
  SELECT l.stream_id, l.head_seq, l.inbox_seq, l.wave,
         coalesce(CASE WHEN t.payload #>> '{error,code}' = ANY ($9::text[]) THEN asked.last WHEN tries.failed AND NOT tries.goes_on THEN tries.first END, l.head_seq) AS from_seq
  FROM go, locked l
  JOIN :agent.events t ON t.run_id = $1::uuid AND t.stream_id = l.stream_id AND t.seq = l.head_seq
  CROSS JOIN LATERAL (SELECT coalesce(max(e.seq) FILTER (WHERE e.type = 'LlmCallCompleted'), 0) AS answer, max(e.seq) FILTER (WHERE e.type = 'LlmCallStarted') AS last
                      FROM :agent.events e WHERE e.run_id = $1::uuid AND e.stream_id = l.stream_id) asked
  CROSS JOIN LATERAL (SELECT bool_or(e.type = 'LlmCallFailed') AS failed,
                             coalesce((array_agg(e.payload ->> 'goesOn' ORDER BY e.seq DESC) FILTER (WHERE e.type = 'LlmCallFailed'))[1], '') = 'true' AS goes_on,
                             min(e.seq) FILTER (WHERE e.type = 'LlmCallStarted') AS first
                      FROM :agent.events e WHERE e.run_id = $1::uuid AND e.stream_id = l.stream_id AND e.seq > asked.answer) tries
  WHERE l.stream_id <> 'run' AND l.status = 'ended' AND l.outcome <> 'completed'
), child AS MATERIALIZED (
  SELECT l.run_id, l.head_seq, l.inbox_seq, greatest(l.generation, $10::int) AS generation
  FROM go, locked l JOIN :agent.runs r ON r.run_id = l.run_id AND r.parent = $1::uuid
  WHERE l.run_id <> $1::uuid AND l.status = 'ended' AND l.outcome <> 'completed'
), moved AS (                                      -- the one UPDATE of streams
  UPDATE :agent.streams s SET
    head_seq = s.head_seq + k.n,
    status = CASE WHEN k.own THEN s.status ELSE 'ready' END,
    outcome = CASE WHEN k.own THEN s.outcome END,
    wait = NULL, problem = NULL,
    lease_epoch = s.lease_epoch + CASE WHEN k.own THEN 0 ELSE 1 END,
    lease_until = CASE WHEN k.own THEN clock_timestamp() + $6::int * interval '1 ms' END,
    wake_at = CASE WHEN k.own THEN s.wake_at ELSE clock_timestamp() + $7::int * interval '1 ms' END,
    attempts = CASE WHEN k.own THEN s.attempts ELSE 0 END,
    solo_attempts = CASE WHEN k.own THEN s.solo_attempts ELSE 0 END,
    generation = greatest(s.generation, $10::int)
  FROM (SELECT $1::uuid AS run_id, 'run' COLLATE "C" AS stream_id, cardinality($4::text[]) AS n, true AS own FROM go
        UNION ALL SELECT $1::uuid, stream_id, 1, false FROM again UNION ALL SELECT run_id, 'run', 1, false FROM child) k
  WHERE s.run_id = k.run_id AND s.stream_id = k.stream_id
  RETURNING s.run_id, s.stream_id, s.inbox_seq
), written AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload)
  SELECT $1::uuid, 'run', go.head_seq + e.i, e.type, e.payload FROM go, unnest($4::text[], $5::jsonb[]) WITH ORDINALITY AS e(type, payload, i)
  UNION ALL
  SELECT $1::uuid, a.stream_id, a.head_seq + 1, 'StreamInvalidated', jsonb_build_object('fromSeq', a.from_seq, 'reason', 'retry', 'generation', $10::int,
           'retry', $11::jsonb || jsonb_build_object('upTo', a.inbox_seq))
  FROM again a
  UNION ALL
  SELECT c.run_id, 'run', c.head_seq + 1, 'StreamInvalidated', jsonb_build_object('fromSeq', c.head_seq, 'reason', 'retry', 'generation', c.generation,
           'retry', $11::jsonb || jsonb_build_object('upTo', c.inbox_seq))
  FROM child c
), ripe AS MATERIALIZED (
  SELECT v.wave, c.k FROM :agent.waves v JOIN (SELECT wave, count(*)::int AS k FROM again GROUP BY wave) c ON c.wave = v.wave
  WHERE v.run_id = $1::uuid ORDER BY v.run_id, v.wave FOR UPDATE OF v
), counted AS (
  UPDATE :agent.waves v SET unsettled = v.unsettled + r.k, signalled = false, reopened = v.reopened + 1
  FROM ripe r WHERE v.run_id = $1::uuid AND v.wave = r.wave
), rows_last AS MATERIALIZED (
  SELECT r.run_id, k.own, k.cut FROM :agent.runs r
  JOIN (SELECT $1::uuid AS run_id, true AS own, (go.wait = 'cut')::int AS cut FROM go WHERE go.wait IN ('cut', 'timer', 'retry', 'signal')
        UNION ALL SELECT run_id, false, 0 FROM child) k ON k.run_id = r.run_id
  WHERE (SELECT count(*) FROM moved) > 0 AND (SELECT count(*) FROM ripe) >= 0 ORDER BY r.run_id FOR UPDATE OF r
), stated AS (
  UPDATE :agent.runs r SET waiting_cut = r.waiting_cut - k.cut, phase = 'running',
    ended = CASE WHEN k.own THEN r.ended END, ended_at = CASE WHEN k.own THEN r.ended_at END, output = CASE WHEN k.own THEN r.output END,
    error = CASE WHEN k.own THEN r.error END, retries = r.retries + CASE WHEN k.own THEN 0 ELSE 1 END
  FROM rows_last k WHERE r.run_id = k.run_id
)
SELECT m.inbox_seq FROM moved m WHERE m.run_id = $1::uuid AND m.stream_id = 'run'
