-- A new schedule. No row: there are too many. Locks: its own row.
-- $1 name  $2 agent  $3 process  $4 input jsonb  $5 cron  $6 zone  $7 catch-up  $8 next ms float8 (null: paused)  $9 who made it  $10 how many there may be int
INSERT INTO toren_control.schedules AS s (name, agent, process, input, cron, zone, catch_up, next_at, created_by)
SELECT $1::text, $2::text, $3::text, $4::jsonb, $5::text, $6::text, $7::text, to_timestamp($8::float8 / 1000), $9::text
WHERE (SELECT count(*) FROM toren_control.schedules) < $10::int
RETURNING s.schedule_id, s.name, s.agent, s.process, s.input, s.cron, s.zone, s.catch_up, s.problem, s.created_by,
       floor(extract(epoch FROM s.created_at) * 1000)::float8 AS created_at, (extract(epoch FROM s.next_at) * 1000)::float8 AS next_at, NULL::float8 AS last_at, NULL::uuid AS last_run
