-- As list-runs, of runs in one of some statuses. Each status is asked for by itself: in one condition they would have no order in the index, and a
-- planner that takes a rare status for a common one (statuses come and go faster than statistics) would read every run there is.
-- No locks.
-- $1 process (null: any)  $2 since ms float8  $3 until ms float8 (not itself)  $4 place of the last run seen float8 (null: from the newest)  $5 its id  $6 limit int
-- $7 statuses text[]
SELECT p.run_id, p.place FROM unnest($7::text[]) AS want(status), LATERAL (
  SELECT r.run_id, (extract(epoch FROM r.created_at) * 1000000)::float8 AS place
  FROM :agent.runs r
  WHERE r.status = want.status AND ($1::text IS NULL OR r.process = $1::text)
    AND ($2::float8 IS NULL OR r.created_at >= to_timestamp($2::float8 / 1000)) AND ($3::float8 IS NULL OR r.created_at < to_timestamp($3::float8 / 1000))
    AND ($4::float8 IS NULL OR (r.created_at, r.run_id) < (timestamptz 'epoch' + $4::float8 * interval '1 microsecond', $5::uuid))
  ORDER BY r.created_at DESC, r.run_id DESC LIMIT $6::int) p
ORDER BY p.place DESC, p.run_id DESC LIMIT $6::int
