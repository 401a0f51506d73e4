-- Sends messages. One with a dedupe key that waits unclaimed is not doubled; if the new one is due sooner, the waiting one is.
-- Losing them in a crash of the machine is allowed (I9), so nobody waits for the disk: synchronous_commit is off for this statement's transaction alone.
-- The key's row lock is taken by DO UPDATE, not DO NOTHING: a claim that commits meanwhile takes the row out of the unique index, and the message is sent.
-- Locks: message rows by queue and key, so that overlapping batches don't deadlock. Keys are distinct within a batch.
-- $1 queues text[]  $2 bodies text[]  $3 dedupe keys text[]  $4 delays ms float8[]
INSERT INTO toren_control.queue_messages AS m (queue, body, dedupe_key, visible_at)
SELECT w.queue, w.body::jsonb, w.dedupe_key, clock_timestamp() + w.delay_ms * interval '1 ms'
FROM (SELECT set_config('synchronous_commit', 'off', true)) relaxed,
     unnest($1::text[], $2::text[], $3::text[], $4::float8[]) AS w(queue, body, dedupe_key, delay_ms)
ORDER BY w.queue, w.dedupe_key
ON CONFLICT (queue, dedupe_key) WHERE dedupe_key IS NOT NULL AND receipt IS NULL AND dead_at IS NULL
DO UPDATE SET visible_at = EXCLUDED.visible_at WHERE EXCLUDED.visible_at < m.visible_at
