-- Runs of a list as they are now, without what went in and came out, which may be large. No locks. $1 run uuid[]
SELECT run_id, process, mode, status, error, generation, attributes,
       floor(extract(epoch FROM created_at) * 1000)::float8 AS created_at, floor(extract(epoch FROM ended_at) * 1000)::float8 AS ended_at
FROM :agent.runs WHERE run_id = ANY ($1::uuid[])
