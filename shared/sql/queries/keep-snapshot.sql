-- Keeps a session's state as of an event. An older one never replaces a newer of the same version.
-- Locks: none but its own row. $1 run uuid  $2 stream text  $3 seq bigint  $4 fold version int  $5 absorbed bigint  $6 state jsonb
INSERT INTO :agent.snapshots AS s (run_id, stream_id, seq, version, absorbed, state)
VALUES ($1::uuid, $2::text, $3::bigint, $4::int, $5::bigint, $6::jsonb)
ON CONFLICT (run_id, stream_id) DO UPDATE SET seq = excluded.seq, version = excluded.version, absorbed = excluded.absorbed, state = excluded.state
WHERE s.seq < excluded.seq OR s.version <> excluded.version
