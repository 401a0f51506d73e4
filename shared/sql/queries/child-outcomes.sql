-- How those of a run's children ended that have. `ended` null: it goes on. One that isn't there, or is another run's child, has no row. No locks.
-- $1 parent uuid  $2 children uuid[]
SELECT r.run_id, r.ended, r.output, r.error FROM unnest($2::uuid[]) AS c(id) JOIN :agent.runs r ON r.run_id = c.id AND r.parent = $1::uuid
