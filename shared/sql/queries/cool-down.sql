-- Nobody enters a gate for a while: the longest of what was asked. The gate's row is made if nobody was ever counted there.
-- Locks: the one gate's row. The clock is read when it is held.
-- $1 key text  $2 ms float8
INSERT INTO toren_control.gates AS g (key, places, cool_until)
SELECT $1::text, 2147483647, clock_timestamp() + $2::float8 * interval '1 ms' FROM (SELECT set_config('synchronous_commit', 'off', true)) relaxed
ON CONFLICT (key) DO UPDATE SET cool_until = greatest(g.cool_until, clock_timestamp() + $2::float8 * interval '1 ms')
