-- What a task is to do. No locks. $1 run uuid  $2 task text
SELECT role, input, digest FROM :agent.task_specs WHERE run_id = $1::uuid AND task_id = $2::text
