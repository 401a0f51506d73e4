-- Children of a run that a later start may take over: not those that were cancelled, since that says nothing of what they were asked. No locks. $1 parent uuid
SELECT run_id FROM :agent.runs WHERE parent = $1::uuid AND ended IS DISTINCT FROM 'cancelled'
