-- An agent's runs, newest first, without what went in and came out, which may be large. `place` is created_at to the microsecond as text that sorts; the cursor over several agents is made of it and the id.
-- ORDER BY names the table's column: unqualified it would mean the milliseconds selected here, and a page would lose runs of one millisecond.
-- No locks. $1 status (null: any)  $2 place of the last run seen (null: from the newest)  $3 its id  $4 limit int
SELECT run_id, process, mode, status, error, generation, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS place,
       floor(extract(epoch FROM created_at) * 1000)::float8 AS created_at, floor(extract(epoch FROM ended_at) * 1000)::float8 AS ended_at
FROM :agent.runs r
WHERE ($1::text IS NULL OR status = $1::text)
  AND ($2::text IS NULL OR (created_at, run_id) < ($2::text::timestamptz, $3::uuid))
ORDER BY r.created_at DESC, r.run_id DESC LIMIT $4::int
