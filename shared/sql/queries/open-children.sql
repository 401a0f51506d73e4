-- Children of a run that haven't ended. No locks. $1 parent uuid
SELECT run_id FROM :agent.runs WHERE parent = $1::uuid AND ended IS NULL ORDER BY created_at, run_id
