-- Streams that should be worked on and aren't: their workers die, their writer stepped back, nobody takes them, or their lease ran out and nobody came.
-- `since` is when the log or the inbox last grew: a stream becomes ready by one of them. The oldest runs that are under way are looked at,
-- each by its key: OFFSET keeps the planner from reading all streams there are instead. No locks.
-- $1 runs int  $2 attempts that are a crash loop int  $3 how long is too long, ms int  $4 rows int
WITH live AS MATERIALIZED (
  SELECT run_id, process, created_at FROM :agent.runs WHERE status IN ('created', 'running', 'waitingApproval', 'waitingCut')
  ORDER BY created_at, run_id LIMIT $1::int
), found AS (
  SELECT l.run_id, l.process, s.stream_id, s.role, s.attempts, s.problem,
         CASE WHEN s.attempts >= $2::int THEN 'crashing' WHEN s.problem IS NOT NULL THEN 'steppedBack' WHEN s.status = 'ready' THEN 'unclaimed' ELSE 'silent' END AS why,
         s.lease_until, greatest(l.created_at, e.recorded_at, i.recorded_at) AS since
  FROM live l
  JOIN LATERAL (SELECT * FROM :agent.streams t WHERE t.run_id = l.run_id AND t.status IN ('ready', 'running') OFFSET 0) s ON true
  LEFT JOIN :agent.events e ON e.run_id = s.run_id AND e.stream_id = s.stream_id AND e.seq = s.head_seq
  LEFT JOIN :agent.inbox i ON i.run_id = s.run_id AND i.stream_id = s.stream_id AND i.seq = s.inbox_seq
)
SELECT run_id, process, stream_id, role, attempts, problem, why, floor(extract(epoch FROM since) * 1000)::float8 AS since
FROM found
WHERE why IN ('crashing', 'steppedBack')
   OR why = 'unclaimed' AND since < clock_timestamp() - $3::int * interval '1 ms'
   OR why = 'silent' AND lease_until < clock_timestamp() - $3::int * interval '1 ms'
ORDER BY since, run_id, stream_id LIMIT $4::int
