-- What the model calls of everything below a run came to: its children, theirs, and so on; `runs`: how many they are. No locks. $1 run uuid
WITH RECURSIVE tree AS (
  SELECT c.run_id FROM :agent.runs c WHERE c.parent = $1::uuid
  UNION ALL SELECT c.run_id FROM tree t JOIN :agent.runs c ON c.parent = t.run_id
)
SELECT (SELECT count(*) FROM tree)::int AS runs, coalesce(sum(s.model_calls), 0)::int AS calls, coalesce(sum(s.tokens_in + s.tokens_out), 0)::float8 AS tokens,
       coalesce(sum(s.cost_nano), 0)::float8 AS nano, coalesce(sum(s.unpriced), 0)::int AS unpriced, coalesce(bool_or(s.simulated), false) AS simulated
FROM tree t JOIN :agent.streams s ON s.run_id = t.run_id
