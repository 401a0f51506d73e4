-- A failed run goes on. Its stream has ended, so nobody writes it: this statement does, under an epoch of its own (I2), and leaves it ready. It cuts the
-- event that ended the run; what is done again is the tick's to find out (reopen).
-- Not while a task of the run, or anything of its children, is still on its way to stop: it would end as cancelled, and fail the run again. That is read
-- without a lock: what has ended begins again only by reopen, which moves the head that is expected here.
-- A child isn't retried by itself: its parent has heard how it ended.
-- Locks: the run's stream row, then its budget, the runs row last.
-- $1 run uuid  $2 head  $3 who, as jsonb {"by": …}  $4 grace ms int  $5 cap tokens bigint, $6 cap nano dollars bigint (null: as it is)
-- Returns one row, or none: it isn't failed, its head isn't as expected, or a task hasn't ended.
WITH RECURSIVE tree AS (
  SELECT r.run_id FROM :agent.runs r WHERE r.run_id = $1::uuid AND r.parent IS NULL
  UNION ALL SELECT c.run_id FROM tree t JOIN :agent.runs c ON c.parent = t.run_id
), held AS MATERIALIZED (
  SELECT s.head_seq, s.inbox_seq, s.generation, s.status, s.outcome FROM :agent.streams s WHERE s.run_id = $1::uuid AND s.stream_id = 'run' FOR UPDATE
), go AS MATERIALIZED (
  SELECT h.head_seq, h.inbox_seq, h.generation FROM held h
  WHERE h.status = 'ended' AND h.outcome = 'failed' AND h.head_seq = $2::bigint
    AND EXISTS (SELECT 1 FROM tree)
    AND NOT EXISTS (SELECT 1 FROM tree x JOIN :agent.streams t ON t.run_id = x.run_id WHERE t.status <> 'ended')
), moved AS (
  UPDATE :agent.streams s SET head_seq = s.head_seq + 1, lease_epoch = s.lease_epoch + 1, status = 'ready', outcome = NULL, wait = NULL, problem = NULL,
    attempts = 0, solo_attempts = 0, wake_at = clock_timestamp() + $4::int * interval '1 ms'
  FROM go WHERE s.run_id = $1::uuid AND s.stream_id = 'run'
  RETURNING s.head_seq
), written AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload)
  SELECT $1::uuid, 'run', m.head_seq, 'StreamInvalidated', jsonb_build_object('fromSeq', go.head_seq, 'reason', 'retry', 'generation', go.generation,
           'retry', $3::jsonb || jsonb_build_object('upTo', go.inbox_seq))
  FROM go, moved m
), raised AS (
  UPDATE :agent.budgets b SET cap_tokens = coalesce($5::bigint, b.cap_tokens), cap_nano = coalesce($6::bigint, b.cap_nano)
  FROM moved WHERE b.run_id = $1::uuid AND ($5::bigint IS NOT NULL OR $6::bigint IS NOT NULL)
  RETURNING b.run_id
), stated AS (                                     -- reads `raised`, so that it locks after it
  UPDATE :agent.runs r SET ended = NULL, ended_at = NULL, output = NULL, error = NULL, phase = 'running', retries = r.retries + 1
  FROM moved WHERE r.run_id = $1::uuid AND (SELECT count(*) FROM raised) >= 0
)
SELECT head_seq FROM moved
