-- One outside fact (I3): gap-free in the order of commits, idempotent by key.
-- Locks: the one stream row.
-- A twin that commits while this one waits for the row can't be seen by NOT EXISTS (the snapshot is older): its INSERT then raises 23505, the whole
-- statement rolls back and the bump with it. On 23505, and on zero rows, read-fact tells which it was. Never ON CONFLICT DO NOTHING here: it would leave
-- the bump without a row, a gap on which the cursor sticks.
-- $1 run uuid  $2 stream text  $3 key text  $4 kind text  $5 payload jsonb  $6 grace ms int  $7 only if the run isn't sealed bool
WITH held AS MATERIALIZED (
  SELECT s.status FROM :agent.streams s WHERE s.run_id = $1::uuid AND s.stream_id = $2::text FOR UPDATE
), moved AS (
  UPDATE :agent.streams s SET
    inbox_seq = s.inbox_seq + 1,
    status  = CASE WHEN s.status = 'parked' THEN 'ready' ELSE s.status END,
    wake_at = CASE WHEN s.status = 'parked' THEN clock_timestamp() + $6::int * interval '1 ms' ELSE s.wake_at END
  FROM held h
  WHERE s.run_id = $1::uuid AND s.stream_id = $2::text AND s.status <> 'ended'
    AND NOT EXISTS (SELECT 1 FROM :agent.inbox i WHERE i.run_id = $1::uuid AND i.stream_id = $2::text AND i.key = $3::text)
    AND NOT ($7::bool AND EXISTS (SELECT 1 FROM :agent.runs r WHERE r.run_id = $1::uuid AND r.data_key IS NOT NULL))
  RETURNING s.inbox_seq, h.status = 'parked' AS nudge
), posted AS (
  INSERT INTO :agent.inbox (run_id, stream_id, seq, key, kind, payload)
  SELECT $1::uuid, $2::text, m.inbox_seq, $3::text, $4::text, $5::jsonb FROM moved m
)
SELECT inbox_seq, nudge FROM moved
