-- Facts after a cursor, in the order of their commits. No locks. $1 run uuid  $2 stream text  $3 after bigint  $4 limit int
SELECT seq, key, payload FROM :agent.inbox WHERE run_id = $1::uuid AND stream_id = $2::text AND seq > $3::bigint ORDER BY seq LIMIT $4::int
