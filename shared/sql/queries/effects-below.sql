-- What these runs, and everything below them, have done or begun that takes effect: calls with effects outside, by their tool, and steps of workflows. No locks.
-- $1 run ids uuid[]
WITH RECURSIVE tree AS (
  SELECT x AS run_id FROM unnest($1::uuid[]) AS x UNION ALL SELECT c.run_id FROM tree t JOIN :agent.runs c ON c.parent = t.run_id
)
SELECT DISTINCT e.run_id, CASE e.type WHEN 'StepStarted' THEN 'step ' || (e.payload ->> 'name') ELSE e.payload ->> 'tool' END AS what
FROM tree t JOIN :agent.events e ON e.run_id = t.run_id
WHERE e.type = 'StepStarted' OR (e.type = 'ToolCallStarted' AND e.payload ->> 'effects' = 'external')
ORDER BY 1, 2
