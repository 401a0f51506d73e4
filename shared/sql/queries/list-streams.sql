-- The streams of a run, its own first. No locks. $1 run uuid
SELECT stream_id, status, outcome, wait, floor(extract(epoch FROM wake_at) * 1000)::float8 AS wake_at, attempts, role, wave, head_seq, sealed_seq, copied_seq, problem
FROM :agent.streams WHERE run_id = $1::uuid ORDER BY stream_id
