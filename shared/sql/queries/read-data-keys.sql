-- With which keys runs are sealed. Null: it is plain. A run's never changes. No locks. $1 run uuid[]
SELECT run_id, data_key FROM :agent.runs WHERE run_id = ANY ($1::uuid[])
