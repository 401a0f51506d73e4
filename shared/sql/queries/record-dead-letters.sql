-- Keeps what became of messages that were received too often. Durable, unlike the queue: a person is to find it. The first record of a message stays.
-- Locks: rows of dead_letters, new ones only.
-- $1 message ids text[]  $2 queues text[]  $3 bodies text[]  $4 receive counts int[]
INSERT INTO toren_control.dead_letters (message_id, queue, body, receive_count)
SELECT w.message_id, w.queue, w.body::jsonb, w.receive_count
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[]) AS w(message_id, queue, body, receive_count)
ORDER BY w.message_id
ON CONFLICT (message_id) DO NOTHING
