-- Tells whoever listens. A statement of its own, never within an append's transaction: commits that notify wait for one another.
-- $1 channels text[]  $2 payloads text[]
SELECT pg_notify(n.channel, n.payload)
FROM (SELECT set_config('synchronous_commit', 'off', true)) relaxed, unnest($1::text[], $2::text[]) AS n(channel, payload)
