-- Completed calls whose silent repetition I6b forbids: effects external, idempotency none. No locks. $1 run uuid  $2 task ids text[]
SELECT DISTINCT substr(b.stream_id, 6) AS task_id, b.payload ->> 'tool' AS tool
FROM :agent.events b JOIN :agent.events d ON d.run_id = b.run_id AND d.stream_id = b.stream_id AND d.seq > b.seq AND d.type = 'ToolCallCompleted'
  AND d.payload ->> 'stepId' = b.payload ->> 'stepId' AND d.payload ->> 'toolUseId' = b.payload ->> 'toolUseId'
WHERE b.run_id = $1::uuid AND b.stream_id = ANY (SELECT 'task:' || x FROM unnest($2::text[]) x)
  AND b.type = 'ToolCallStarted' AND b.payload ->> 'effects' = 'external' AND b.payload ->> 'idempotency' = 'none'
ORDER BY 1, 2
