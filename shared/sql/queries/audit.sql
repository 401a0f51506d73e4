-- Parked and forgotten (I10): parked streams with facts that nobody absorbed, without a recorded wait, or whose wait is for a time that isn't set.
-- They are made ready. A page at a time over all parked streams.
-- Locks: stream rows in (run_id, stream_id), SKIP LOCKED.
-- $1 after run uuid (null: from the start)  $2 after stream text  $3 limit int
-- Returns the page's rows, `fixed` for those that were made ready.
WITH page AS MATERIALIZED (
  SELECT s.run_id, s.stream_id FROM :agent.streams s
  WHERE s.status = 'parked' AND ($1::uuid IS NULL OR (s.run_id, s.stream_id) > ($1::uuid, $2::text))
  ORDER BY s.run_id, s.stream_id LIMIT $3::int FOR UPDATE SKIP LOCKED
), woken AS (
  UPDATE :agent.streams s SET status = 'ready', wake_at = clock_timestamp()
  FROM page p
  WHERE s.run_id = p.run_id AND s.stream_id = p.stream_id AND s.status = 'parked'
    AND (s.inbox_seq > s.absorbed OR s.wait IS NULL OR (s.wake_at IS NULL AND s.wait IN ('timer', 'retry')))
  RETURNING s.run_id, s.stream_id
)
SELECT p.run_id, p.stream_id, w.run_id IS NOT NULL AS fixed
FROM page p LEFT JOIN woken w ON w.run_id = p.run_id AND w.stream_id = p.stream_id
ORDER BY p.run_id, p.stream_id
