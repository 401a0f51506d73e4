-- A run of this agent that has the file, ended or not. A scan, as find-file-use. No locks. $1 file id text
SELECT f.run_id FROM :agent.run_files f WHERE f.file_id = $1::text LIMIT 1
