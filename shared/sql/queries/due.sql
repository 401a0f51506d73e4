-- The guardian's look at what is due: select and push back in one statement, SKIP LOCKED. A live lease only has its clock corrected (no nudge); a dead
-- one and a due ready or parked stream are nudged. The lease itself is never touched: were wake_at also the lease's end, pushing it back would renew the
-- dead writer's lease, and every nudge would answer "leased" for ever.
-- statement_timestamp() finds them: a volatile clock can't be an index condition, and each pass would read every clock that is set (5 times the cost over
-- 100,000 parked streams). It stands still during the statement, which SKIP LOCKED never lets wait; what is compared with a lease is clock_timestamp().
-- Locks: stream rows, SKIP LOCKED, so their order is free.
-- $1 limit int  $2 back-off ms int
WITH due AS MATERIALIZED (
  SELECT run_id, stream_id FROM :agent.streams WHERE wake_at <= statement_timestamp() ORDER BY wake_at LIMIT $1::int FOR UPDATE SKIP LOCKED
)
UPDATE :agent.streams s SET
  wake_at = CASE WHEN s.status = 'running' AND s.lease_until > clock_timestamp() THEN s.lease_until ELSE clock_timestamp() + $2::int * interval '1 ms' END
FROM due d WHERE s.run_id = d.run_id AND s.stream_id = d.stream_id
RETURNING s.run_id, s.stream_id, s.role, s.attempts, s.solo_attempts, NOT (s.status = 'running' AND s.lease_until > clock_timestamp()) AS nudge
