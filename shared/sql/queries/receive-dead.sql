-- Claims dead letters that nobody has recorded yet, of all queues. receive_count stays what it was when they died.
-- Locks: message rows, SKIP LOCKED.
-- $1 max int  $2 visibility ms float8
WITH visible AS MATERIALIZED (
  SELECT id FROM toren_control.queue_messages WHERE dead_at IS NOT NULL AND visible_at <= now() ORDER BY visible_at LIMIT $1::int FOR UPDATE SKIP LOCKED
)
UPDATE toren_control.queue_messages m SET receipt = gen_random_uuid(), visible_at = clock_timestamp() + $2::float8 * interval '1 ms'
FROM visible v WHERE m.id = v.id
RETURNING m.queue, m.id::text AS id, m.receipt, m.receive_count, m.body::text AS body
