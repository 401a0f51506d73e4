-- A key by its hash, with whether it has expired. That it is used is noted once a minute at most. Locks: the one row, when it is noted.
-- $1 hash text
WITH used AS (
  UPDATE toren_control.api_keys SET last_used_at = clock_timestamp()
  WHERE key_hash = $1::text AND revoked_at IS NULL AND (last_used_at IS NULL OR last_used_at < clock_timestamp() - interval '1 minute')
)
SELECT key_id, name, begins, scopes, agents, created_by, floor(extract(epoch FROM created_at) * 1000)::float8 AS created_at,
       floor(extract(epoch FROM expires_at) * 1000)::float8 AS expires_at, floor(extract(epoch FROM revoked_at) * 1000)::float8 AS revoked_at,
       floor(extract(epoch FROM last_used_at) * 1000)::float8 AS last_used_at,
       coalesce(expires_at <= clock_timestamp(), false) AS expired
FROM toren_control.api_keys WHERE key_hash = $1::text
