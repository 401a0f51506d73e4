-- Sets when a claimed message shows again: sooner to give it back, later to keep it. The receipt stays good. An overtaken one changes nothing.
-- Locks: the one message row.
-- $1 id bigint  $2 receipt uuid  $3 after ms float8
UPDATE toren_control.queue_messages m SET visible_at = clock_timestamp() + $3::float8 * interval '1 ms'
FROM (SELECT set_config('synchronous_commit', 'off', true) AS was) relaxed
WHERE m.id = $1::bigint AND m.receipt = $2::uuid AND m.dead_at IS NULL AND relaxed.was IS NOT NULL
