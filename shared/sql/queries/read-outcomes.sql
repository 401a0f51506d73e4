-- Outcomes of those of the tasks that have ended: a task's last event is its terminal one. No locks. $1 run uuid  $2 task ids text[]
SELECT substr(s.stream_id, 6) AS task_id, e.payload
FROM unnest($2::text[]) AS t(id)
JOIN :agent.streams s ON s.run_id = $1::uuid AND s.stream_id = 'task:' || t.id AND s.status = 'ended'
JOIN :agent.events e ON e.run_id = s.run_id AND e.stream_id = s.stream_id AND e.seq = s.head_seq
