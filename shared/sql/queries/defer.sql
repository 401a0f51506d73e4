-- Notes why a writer stepped back, and sets when the guardian looks again. A live lease is somebody else's: nothing happens then.
-- Locks: the one stream row.
-- $1 run uuid  $2 stream text  $3 problem jsonb  $4 after ms float8
UPDATE :agent.streams s SET problem = $3::jsonb, wake_at = clock_timestamp() + $4::float8 * interval '1 ms'
WHERE s.run_id = $1::uuid AND s.stream_id = $2::text AND s.status <> 'ended' AND (s.lease_owner IS NULL OR s.lease_until < clock_timestamp())
