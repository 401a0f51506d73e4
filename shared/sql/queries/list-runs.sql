-- An agent's runs, newest first. `place` is created_at in microseconds, exact as text: the cursor over several agents is made of it and the id.
-- No locks. $1 status (null: any)  $2 place of the last run seen (null: from the newest)  $3 its id  $4 limit int
SELECT run_id, process, status, input, output, error, generation, (extract(epoch FROM created_at) * 1000000)::bigint::text AS place,
       floor(extract(epoch FROM created_at) * 1000)::float8 AS created_at, floor(extract(epoch FROM ended_at) * 1000)::float8 AS ended_at
FROM :agent.runs
WHERE ($1::text IS NULL OR status = $1::text)
  AND ($2::text IS NULL OR (created_at, run_id) < ('epoch'::timestamptz + $2::bigint * interval '1 microsecond', $3::uuid))
ORDER BY created_at DESC, run_id DESC LIMIT $4::int
