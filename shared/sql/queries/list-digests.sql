-- Content of a run's tasks without their inputs, in the order they were created. No locks. $1 run uuid
SELECT task_id, digest FROM :agent.task_specs WHERE run_id = $1::uuid ORDER BY ordinal
