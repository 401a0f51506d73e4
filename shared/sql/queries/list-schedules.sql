-- Schedules with their last fires, by name. No locks. $1 schedule id uuid (null: all)
SELECT s.schedule_id, s.name, s.agent, s.process, s.input, s.cron, s.zone, s.catch_up, s.problem, s.created_by,
       floor(extract(epoch FROM s.created_at) * 1000)::float8 AS created_at, (extract(epoch FROM s.next_at) * 1000)::float8 AS next_at, (extract(epoch FROM f.fire_at) * 1000)::float8 AS last_at, f.run_id AS last_run
FROM toren_control.schedules s
LEFT JOIN LATERAL (SELECT fire_at, run_id FROM toren_control.schedule_fires f WHERE f.schedule_id = s.schedule_id ORDER BY fire_at DESC LIMIT 1) f ON true
WHERE $1::uuid IS NULL OR s.schedule_id = $1::uuid
ORDER BY s.name, s.schedule_id
