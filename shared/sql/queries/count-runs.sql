-- How many runs are in which status. By the index on status alone. No locks.
SELECT status, count(*)::int AS count FROM :agent.runs GROUP BY status
