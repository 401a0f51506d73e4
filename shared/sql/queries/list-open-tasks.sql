-- Task streams of a run that haven't ended. No locks. $1 run uuid
SELECT substr(stream_id, 6) AS task_id, wait FROM :agent.streams
WHERE run_id = $1::uuid AND stream_id > 'run' AND status <> 'ended' ORDER BY stream_id
