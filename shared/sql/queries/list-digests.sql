-- Content of those of a run's tasks that a plan may take over, without their inputs, in the order they were created. Not of those that were told to stop:
-- how they ended says nothing of their content, and a plan that took one over would fail by another's failure. One that goes on after a retry is told
-- anew. No locks. $1 run uuid
SELECT t.task_id, t.digest FROM :agent.task_specs t
WHERE t.run_id = $1::uuid
  AND NOT EXISTS (SELECT 1 FROM :agent.inbox i WHERE i.run_id = t.run_id AND i.stream_id = 'task:' || t.task_id AND i.kind = 'cancel'
    AND i.seq > coalesce((SELECT max((e.payload #>> '{retry,upTo}')::bigint) FROM :agent.events e WHERE e.run_id = i.run_id AND e.stream_id = i.stream_id
      AND e.type = 'StreamInvalidated'), 0))
ORDER BY t.ordinal
