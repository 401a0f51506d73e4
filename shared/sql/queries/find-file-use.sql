-- A run of this agent that has the file and hasn't ended. A scan: files are removed by people, rarely, and an index would cost every run.
-- No locks. $1 file id text
SELECT f.run_id FROM :agent.run_files f JOIN :agent.runs r ON r.run_id = f.run_id WHERE f.file_id = $1::text AND r.ended_at IS NULL LIMIT 1
