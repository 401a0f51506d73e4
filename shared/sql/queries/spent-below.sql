-- What the model calls of everything below a run came to: its children, theirs, and so on; `runs`: how many they are. `waiting`: how many of them wait for
-- somebody, and which to look at first: decisions before conversations before signals, the oldest of them. No locks. $1 run uuid
WITH RECURSIVE tree AS (
  SELECT c.run_id FROM :agent.runs c WHERE c.parent = $1::uuid
  UNION ALL SELECT c.run_id FROM tree t JOIN :agent.runs c ON c.parent = t.run_id
)
SELECT (SELECT count(*) FROM tree)::int AS runs, coalesce(sum(s.model_calls), 0)::int AS calls, coalesce(sum(s.tokens_in + s.tokens_out), 0)::float8 AS tokens,
       coalesce(sum(s.cost_nano), 0)::float8 AS nano, coalesce(sum(s.unpriced), 0)::int AS unpriced, coalesce(bool_or(s.simulated), false) AS simulated,
       (SELECT jsonb_build_object('runs', w.runs, 'runId', w.run_id, 'process', w.process, 'status', w.status)
        FROM (SELECT r.run_id, r.process, r.status, count(*) OVER () AS runs
              FROM tree x JOIN :agent.runs r ON r.run_id = x.run_id
              WHERE r.status IN ('waitingCut', 'waitingApproval', 'awaitingInput', 'waitingSignal')
              ORDER BY array_position(ARRAY['waitingCut', 'waitingApproval', 'awaitingInput'], r.status) NULLS LAST, r.created_at, r.run_id LIMIT 1) w) AS waiting
FROM tree t JOIN :agent.streams s ON s.run_id = t.run_id
