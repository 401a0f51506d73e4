-- Moves a schedule on without a run, if it still is where it was. Locks: the one row.
-- $1 schedule id uuid  $2 expected next ms float8  $3 next ms float8 (null: never again)  $4 problem (or null)
UPDATE toren_control.schedules SET next_at = to_timestamp($3::float8 / 1000), problem = $4::text
WHERE schedule_id = $1::uuid AND next_at = to_timestamp($2::float8 / 1000)
