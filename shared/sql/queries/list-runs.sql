-- Ids of an agent's runs, newest first. `place` is created_at in microseconds, exact in a float8; the cursor over several agents is made of it and the id.
-- No locks.
-- $1 process (null: any)  $2 since ms float8  $3 until ms float8 (not itself)  $4 place of the last run seen float8 (null: from the newest)  $5 its id  $6 limit int
SELECT r.run_id, (extract(epoch FROM r.created_at) * 1000000)::float8 AS place
FROM :agent.runs r
WHERE ($1::text IS NULL OR r.process = $1::text)
  AND ($2::float8 IS NULL OR r.created_at >= to_timestamp($2::float8 / 1000)) AND ($3::float8 IS NULL OR r.created_at < to_timestamp($3::float8 / 1000))
  AND ($4::float8 IS NULL OR (r.created_at, r.run_id) < (timestamptz 'epoch' + $4::float8 * interval '1 microsecond', $5::uuid))
ORDER BY r.created_at DESC, r.run_id DESC LIMIT $6::int
