-- One run. No locks. $1 run uuid
SELECT run_id, process, mode, status, input, output, error, generation,
       floor(extract(epoch FROM created_at) * 1000)::float8 AS created_at, floor(extract(epoch FROM ended_at) * 1000)::float8 AS ended_at
FROM :agent.runs WHERE run_id = $1::uuid
