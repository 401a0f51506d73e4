-- Approvals that a run's tasks have asked for, with the decision if there is one. What nobody decided before its task ended, and a request that a later
-- cut took away, concern nobody.
-- No locks. $1 run uuid
SELECT substr(e.stream_id, 6) AS task_id, e.payload, floor(extract(epoch FROM e.recorded_at) * 1000)::float8 AS requested_at,
       i.payload AS decision, floor(extract(epoch FROM i.recorded_at) * 1000)::float8 AS decided_at
FROM :agent.events e
JOIN :agent.streams s ON s.run_id = e.run_id AND s.stream_id = e.stream_id
LEFT JOIN :agent.inbox i ON i.run_id = e.run_id AND i.stream_id = e.stream_id AND i.key = 'decision:' || (e.payload ->> 'key')
WHERE e.run_id = $1::uuid AND e.type = 'ApprovalRequested' AND (s.status <> 'ended' OR i.payload IS NOT NULL)
  AND NOT EXISTS (SELECT FROM :agent.events c WHERE c.run_id = e.run_id AND c.stream_id = e.stream_id AND c.type = 'StreamInvalidated'
                  AND c.seq > e.seq AND (c.payload ->> 'fromSeq')::bigint <= e.seq)
ORDER BY e.recorded_at, e.stream_id, e.seq
