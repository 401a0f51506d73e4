-- Calls with effects outside that began after a place in these tasks' logs, each tool of a task once; where `open`, only those that never ended. No locks.
-- $1 run uuid  $2 task ids text[]  $3 after seqs bigint[]  $4 open bool[]
SELECT DISTINCT t.id AS task_id, e.payload ->> 'tool' AS tool
FROM unnest($2::text[], $3::bigint[], $4::bool[]) AS t(id, after, open)
JOIN :agent.events e ON e.run_id = $1::uuid AND e.stream_id = 'task:' || t.id AND e.seq > t.after
WHERE e.type = 'ToolCallStarted' AND e.payload ->> 'effects' = 'external'
  AND NOT (t.open AND EXISTS (SELECT 1 FROM :agent.events d WHERE d.run_id = e.run_id AND d.stream_id = e.stream_id AND d.seq > e.seq
    AND d.type = 'ToolCallCompleted' AND d.payload ->> 'toolUseId' = e.payload ->> 'toolUseId'))
ORDER BY 1, 2
