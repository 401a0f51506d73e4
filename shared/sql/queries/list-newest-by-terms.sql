-- As list-runs-by-terms, among the newest runs alone: where many runs have what is looked for, a page of them is found there, and nobody reads and sorts all
-- the others. Fewer than a page: they tell nothing of older ones. In their
-- order, each asked for by its key (OFFSET keeps it so), so that what is found soon ends the search. No locks.
-- $1 process (null: any)  $2 since ms float8  $3 until ms float8 (not itself)  $4 place of the last run seen float8 (null: from the newest)  $5 its id  $6 limit int
-- $7 statuses text[] (null: any)  $8 tsquery text, made by core/terms.ts  $9 newest runs int
SELECT n.run_id, (extract(epoch FROM n.created_at) * 1000000)::float8 AS place
FROM (
  SELECT r.run_id, r.created_at, r.status FROM :agent.runs r
  WHERE ($1::text IS NULL OR r.process = $1::text)
    AND ($2::float8 IS NULL OR r.created_at >= to_timestamp($2::float8 / 1000)) AND ($3::float8 IS NULL OR r.created_at < to_timestamp($3::float8 / 1000))
    AND ($4::float8 IS NULL OR (r.created_at, r.run_id) < (timestamptz 'epoch' + $4::float8 * interval '1 microsecond', $5::uuid))
  ORDER BY r.created_at DESC, r.run_id DESC LIMIT $9::int) n,
  LATERAL (SELECT t.terms FROM :agent.run_terms t WHERE t.run_id = n.run_id OFFSET 0) t
WHERE t.terms @@ $8::text::tsquery AND ($7::text[] IS NULL OR n.status = ANY ($7::text[]))
ORDER BY n.created_at DESC, n.run_id DESC LIMIT $6::int
