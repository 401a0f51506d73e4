-- The children of a run, the oldest first, each with what its own model calls came to; `count`: how many there are. No locks. $1 parent uuid  $2 rows int
WITH page AS MATERIALIZED (
  SELECT r.run_id, r.process, r.status, r.created_at, r.ended_at, count(*) OVER ()::int AS count
  FROM :agent.runs r WHERE r.parent = $1::uuid ORDER BY r.created_at, r.run_id LIMIT $2::int
)
SELECT p.run_id, p.process, p.status, p.count, floor(extract(epoch FROM p.created_at) * 1000)::float8 AS created_at,
       floor(extract(epoch FROM p.ended_at) * 1000)::float8 AS ended_at, s.*
FROM page p, LATERAL (
  SELECT coalesce(sum(s.model_calls), 0)::int AS calls, coalesce(sum(s.tokens_in + s.tokens_out), 0)::float8 AS tokens, coalesce(sum(s.cost_nano), 0)::float8 AS nano,
         coalesce(sum(s.unpriced), 0)::int AS unpriced, coalesce(bool_or(s.simulated), false) AS simulated
  FROM :agent.streams s WHERE s.run_id = p.run_id
) s ORDER BY p.created_at, p.run_id
