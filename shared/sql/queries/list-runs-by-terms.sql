-- As list-runs, of runs that have all of some words and attributes. No locks.
-- The index of words is asked first, and then each run by its key (OFFSET keeps it so): with stale statistics all runs were gone through instead.
-- $1 process (null: any)  $2 since ms float8  $3 until ms float8 (not itself)  $4 place of the last run seen float8 (null: from the newest)  $5 its id  $6 limit int
-- $7 statuses text[] (null: any)  $8 tsquery text, made by core/terms.ts
SELECT r.run_id, (extract(epoch FROM r.created_at) * 1000000)::float8 AS place
FROM (SELECT t.run_id FROM :agent.run_terms t WHERE t.terms @@ $8::text::tsquery OFFSET 0) t,
  LATERAL (SELECT r.run_id, r.created_at, r.status, r.process FROM :agent.runs r WHERE r.run_id = t.run_id OFFSET 0) r
WHERE ($7::text[] IS NULL OR r.status = ANY ($7::text[])) AND ($1::text IS NULL OR r.process = $1::text)
  AND ($2::float8 IS NULL OR r.created_at >= to_timestamp($2::float8 / 1000)) AND ($3::float8 IS NULL OR r.created_at < to_timestamp($3::float8 / 1000))
  AND ($4::float8 IS NULL OR (r.created_at, r.run_id) < (timestamptz 'epoch' + $4::float8 * interval '1 microsecond', $5::uuid))
ORDER BY r.created_at DESC, r.run_id DESC LIMIT $6::int
