-- Somebody watches a run for a while: workers are told at once where they listen, else with the leases that they take or renew. Idempotent; said again it is
-- prolonged. Rows that nobody prolonged go with the next one that is.
-- Locks: the watcher's own row; expired ones with SKIP LOCKED, so that watchers don't wait for one another.
-- $1 run uuid  $2 watcher uuid  $3 for ms int  $4 channel text  $5 new bool: it has seen nothing yet
WITH gone AS (
  DELETE FROM toren_control.run_watchers w WHERE (w.run_id, w.watcher) IN (
    SELECT o.run_id, o.watcher FROM toren_control.run_watchers o
    WHERE o.until < clock_timestamp() AND o.watcher <> $2::uuid LIMIT 100 FOR UPDATE SKIP LOCKED)
), watching AS (
  INSERT INTO toren_control.run_watchers AS w (run_id, watcher, until)
  VALUES ($1::uuid, $2::uuid, clock_timestamp() + $3::int * interval '1 ms')
  ON CONFLICT (run_id, watcher) DO UPDATE SET until = excluded.until
  RETURNING w.run_id
)
SELECT pg_notify($4::text, run_id || CASE WHEN $5::bool THEN ' new' ELSE '' END)
FROM watching, (SELECT set_config('synchronous_commit', 'off', true)) relaxed
