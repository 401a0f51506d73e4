-- Take the right to write. A new epoch for every in-memory writer; the same owner UUID asking again (lost acknowledgement) gets the same epoch back.
-- A stream of a newer generation is not taken (I7). Time is clock_timestamp(): now() is frozen while the statement waits for the row (I8).
-- Locks: the one stream row, then the runs row (only when the run's own stream is taken for the first time: its phase leaves 'created').
-- $1 run  $2 stream  $3 owner uuid  $4 lease ms int  $5 generation int  $6 solo bool
-- Returns one row, or none: no such stream. `epoch` is null where it wasn't taken; status and generation say why. `watched`: somebody watches the run.
WITH held AS MATERIALIZED (
  SELECT s.status, s.generation FROM :agent.streams s WHERE s.run_id = $1::uuid AND s.stream_id = $2::text FOR UPDATE
), taken AS (
  UPDATE :agent.streams s SET
    lease_epoch   = s.lease_epoch   + CASE WHEN s.lease_owner = $3::uuid THEN 0 ELSE 1 END,
    attempts      = s.attempts      + CASE WHEN s.lease_owner = $3::uuid THEN 0 ELSE 1 END,
    solo_attempts = s.solo_attempts + CASE WHEN s.lease_owner = $3::uuid OR NOT $6::bool THEN 0 ELSE 1 END,
    lease_owner = $3::uuid, status = 'running', generation = $5::int,
    lease_until = clock_timestamp() + $4::int * interval '1 ms',
    wake_at     = clock_timestamp() + $4::int * interval '1 ms',
    count_at    = coalesce(s.count_at, clock_timestamp()) -- wake_at changes an index anyway: appends stay heap-only
  FROM held
  WHERE s.run_id = $1::uuid AND s.stream_id = $2::text AND s.status <> 'ended' AND s.generation <= $5::int
    AND (s.lease_owner IS NULL OR s.lease_owner = $3::uuid OR s.lease_until < clock_timestamp())
  RETURNING s.head_seq, s.sealed_seq, s.inbox_seq, s.lease_epoch, s.attempts, s.solo_attempts, s.wait
), begun AS (
  UPDATE :agent.runs r SET phase = 'running' FROM taken t
  WHERE $2::text = 'run' AND r.run_id = $1::uuid AND r.phase = 'created' AND t.lease_epoch = 1
)
SELECT h.status, h.generation, t.head_seq, t.sealed_seq, t.inbox_seq, t.lease_epoch AS epoch, t.attempts, t.solo_attempts, t.wait,
       EXISTS (SELECT FROM toren_control.run_watchers o WHERE o.run_id = $1::uuid AND o.until > clock_timestamp()) AS watched,
       floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
FROM held h LEFT JOIN taken t ON true
