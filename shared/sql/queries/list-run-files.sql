-- Ids of the files attached to a run, in the order they were named. No locks. $1 run uuid
SELECT file_id FROM :agent.run_files WHERE run_id = $1::uuid ORDER BY position
