-- Wakes other workers. A statement of its own, never within an append's transaction: commits that notify wait for one another.
-- $1 channel text  $2 payloads text[]
SELECT pg_notify($1::text, w.payload) FROM (SELECT set_config('synchronous_commit', 'off', true)) relaxed, unnest($2::text[]) AS w(payload)
