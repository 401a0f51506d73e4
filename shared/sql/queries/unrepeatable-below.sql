-- As list-unrepeatable, of all tasks of these runs and of what stands below them. `child`: which of these it was. No locks. $1 run ids uuid[]
WITH RECURSIVE tree AS (
  SELECT x AS child, x AS run_id FROM unnest($1::uuid[]) AS x
  UNION ALL SELECT t.child, c.run_id FROM tree t JOIN :agent.runs c ON c.parent = t.run_id
)
SELECT DISTINCT t.child, b.run_id, b.payload ->> 'tool' AS tool
FROM tree t JOIN :agent.events b ON b.run_id = t.run_id AND b.stream_id > 'run'
JOIN :agent.events d ON d.run_id = b.run_id AND d.stream_id = b.stream_id AND d.seq > b.seq AND d.type = 'ToolCallCompleted'
  AND d.payload ->> 'stepId' = b.payload ->> 'stepId' AND d.payload ->> 'toolUseId' = b.payload ->> 'toolUseId'
WHERE b.type = 'ToolCallStarted' AND b.payload ->> 'effects' = 'external' AND b.payload ->> 'idempotency' = 'none'
ORDER BY 1, 2, 3
