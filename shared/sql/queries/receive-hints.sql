-- Claims the oldest visible messages of a queue; those received too often become dead letters instead, and come back marked.
-- now() may decide what is visible, although time stands still in it: SKIP LOCKED never waits, and only a stable function can use the index.
-- Not worth a wait for the disk either: after a crash a message shows again earlier than it should (I9).
-- Locks: message rows, SKIP LOCKED, so their order is free.
-- $1 queue text  $2 max int  $3 visibility ms float8  $4 receives at most int
WITH relaxed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS was
), visible AS MATERIALIZED (
  SELECT id FROM toren_control.queue_messages WHERE queue = $1::text AND dead_at IS NULL AND visible_at <= now()
  ORDER BY visible_at LIMIT $2::int FOR UPDATE SKIP LOCKED
)
UPDATE toren_control.queue_messages m SET
  receive_count = m.receive_count + CASE WHEN m.receive_count < $4::int THEN 1 ELSE 0 END,
  receipt       = gen_random_uuid(),
  dead_at       = CASE WHEN m.receive_count < $4::int THEN NULL ELSE clock_timestamp() END,
  visible_at    = clock_timestamp() + CASE WHEN m.receive_count < $4::int THEN $3::float8 ELSE 0 END * interval '1 ms'
FROM visible v, relaxed WHERE m.id = v.id AND relaxed.was IS NOT NULL
RETURNING m.id::text AS id, m.receipt, m.receive_count, m.body::text AS body, m.dead_at IS NOT NULL AS dead
