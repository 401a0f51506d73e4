-- Who did what, newest first. No locks. $1 run uuid (null: any)  $2 id of the last one seen bigint (or null)  $3 limit int
SELECT id, floor(extract(epoch FROM at) * 1000)::float8 AS at, by_name, key_id, action, agent, run_id, subject
FROM toren_control.audit
WHERE ($1::uuid IS NULL OR run_id = $1::uuid) AND ($2::bigint IS NULL OR id < $2::bigint)
ORDER BY id DESC LIMIT $3::int
