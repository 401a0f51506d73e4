-- As list-runs, of runs whose ids lie between two: those that begin as somebody has typed. No locks.
-- $1 process (null: any)  $2 since ms float8  $3 until ms float8 (not itself)  $4 place of the last run seen float8 (null: from the newest)  $5 its id  $6 limit int
-- $7 statuses text[] (null: any)  $8 first id uuid  $9 last id uuid  $10 tsquery text of attributes that they must have (null: any)
SELECT r.run_id, (extract(epoch FROM r.created_at) * 1000000)::float8 AS place
FROM :agent.runs r
WHERE r.run_id BETWEEN $8::uuid AND $9::uuid AND ($7::text[] IS NULL OR r.status = ANY ($7::text[])) AND ($1::text IS NULL OR r.process = $1::text)
  AND ($2::float8 IS NULL OR r.created_at >= to_timestamp($2::float8 / 1000)) AND ($3::float8 IS NULL OR r.created_at < to_timestamp($3::float8 / 1000))
  AND ($4::float8 IS NULL OR (r.created_at, r.run_id) < (timestamptz 'epoch' + $4::float8 * interval '1 microsecond', $5::uuid))
  AND ($10::text IS NULL OR EXISTS (SELECT FROM :agent.run_terms t WHERE t.run_id = r.run_id AND t.terms @@ $10::text::tsquery))
ORDER BY r.created_at DESC, r.run_id DESC LIMIT $6::int
