-- Revokes a key; one that is revoked stays as it is. Locks: the one row. $1 key id uuid
UPDATE toren_control.api_keys SET revoked_at = coalesce(revoked_at, clock_timestamp()) WHERE key_id = $1::uuid
RETURNING key_id, name, begins, scopes, agents, created_by, floor(extract(epoch FROM created_at) * 1000)::float8 AS created_at,
       floor(extract(epoch FROM expires_at) * 1000)::float8 AS expires_at, floor(extract(epoch FROM revoked_at) * 1000)::float8 AS revoked_at,
       floor(extract(epoch FROM last_used_at) * 1000)::float8 AS last_used_at
