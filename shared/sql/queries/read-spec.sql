-- What a task is to do, in which wave it counts now, and what its run, and what stands above it, may use (caps null: no bound). A session's conversation is its task w0t0.
-- No locks. $1 run uuid  $2 task text
SELECT t.role, t.input, t.digest, r.mode = 'session' AND t.task_id = 'w0t0' AS session, s.wave, w.max_parallel, b.cap_tokens, b.cap_nano
FROM :agent.task_specs t JOIN :agent.runs r ON r.run_id = t.run_id LEFT JOIN :agent.budgets b ON b.run_id = coalesce(r.root, r.run_id)
LEFT JOIN :agent.streams s ON s.run_id = t.run_id AND s.stream_id = 'task:' || $2::text LEFT JOIN :agent.waves w ON w.run_id = s.run_id AND w.wave = s.wave
WHERE t.run_id = $1::uuid AND t.task_id = $2::text
