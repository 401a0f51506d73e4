-- Changes a schedule as a whole. Locks: the one row.
-- $1 schedule id uuid  $2 name  $3 process  $4 input jsonb  $5 cron  $6 zone  $7 catch-up  $8 next ms float8 (null: paused)
UPDATE toren_control.schedules SET name = $2::text, process = $3::text, input = $4::jsonb, cron = $5::text, zone = $6::text, catch_up = $7::text,
       next_at = to_timestamp($8::float8 / 1000), problem = NULL
WHERE schedule_id = $1::uuid RETURNING schedule_id
