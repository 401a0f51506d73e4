-- A watcher has gone. Losing it costs nothing: the row runs out.
-- Locks: the watcher's own row.
-- $1 run uuid  $2 watcher uuid
DELETE FROM toren_control.run_watchers w
USING (SELECT set_config('synchronous_commit', 'off', true)) relaxed
WHERE w.run_id = $1::uuid AND w.watcher = $2::uuid
