-- Schedules whose time has come, with the clock that says so. No locks: who fires one compares. $1 agents text[]  $2 limit int
SELECT s.schedule_id, s.name, s.agent, s.process, s.input, s.cron, s.zone, s.catch_up, s.problem, s.created_by,
       floor(extract(epoch FROM s.created_at) * 1000)::float8 AS created_at, (extract(epoch FROM s.next_at) * 1000)::float8 AS next_at, NULL::float8 AS last_at, NULL::uuid AS last_run,
       floor(extract(epoch FROM statement_timestamp()) * 1000)::float8 AS now
FROM toren_control.schedules s
WHERE s.next_at <= statement_timestamp() AND s.agent = ANY ($1::text[])
ORDER BY s.next_at LIMIT $2::int
