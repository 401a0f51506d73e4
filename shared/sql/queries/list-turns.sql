-- What was said in a session, in order. No locks. $1 run uuid
SELECT CASE WHEN type = 'UserMessage' THEN 'user' ELSE 'agent' END AS by, payload, floor(extract(epoch FROM recorded_at) * 1000)::float8 AS at
FROM :agent.events WHERE run_id = $1::uuid AND stream_id = 'task:w0t0' AND type IN ('InputRequested', 'UserMessage', 'TaskCompleted') ORDER BY seq
