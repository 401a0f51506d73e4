-- A page of a stream's log, in order. No locks. $1 run uuid  $2 stream text  $3 after bigint  $4 limit int
SELECT seq, type, payload, floor(extract(epoch FROM recorded_at) * 1000)::float8 AS recorded_at
FROM :agent.events WHERE run_id = $1::uuid AND stream_id = $2::text AND seq > $3::bigint ORDER BY seq LIMIT $4::int
