-- Everything below a run, by the order in which it began. No locks. $1 run uuid
WITH RECURSIVE tree AS (
  SELECT c.run_id, c.created_at FROM :agent.runs c WHERE c.parent = $1::uuid
  UNION ALL SELECT c.run_id, c.created_at FROM tree t JOIN :agent.runs c ON c.parent = t.run_id
)
SELECT run_id FROM tree ORDER BY created_at, run_id
