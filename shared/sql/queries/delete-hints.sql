-- Deletes messages by their receipts. A receipt that a later receive has overtaken deletes nothing. $3 says which kind they are: only whoever records a
-- dead letter may delete it, not the worker that finishes after its message had died.
-- Locks: message rows by id.
-- $1 ids bigint[]  $2 receipts uuid[]  $3 dead bool
WITH relaxed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS was
), gone AS MATERIALIZED (
  SELECT m.id FROM toren_control.queue_messages m JOIN unnest($1::bigint[], $2::uuid[]) AS r(id, receipt) ON m.id = r.id AND m.receipt = r.receipt
  WHERE (m.dead_at IS NOT NULL) = $3::bool ORDER BY m.id FOR UPDATE OF m
)
DELETE FROM toren_control.queue_messages m USING gone g, relaxed WHERE m.id = g.id AND relaxed.was IS NOT NULL
