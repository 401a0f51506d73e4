-- All keys, newest first. No locks.
SELECT key_id, name, begins, scopes, agents, created_by, floor(extract(epoch FROM created_at) * 1000)::float8 AS created_at,
       floor(extract(epoch FROM expires_at) * 1000)::float8 AS expires_at, floor(extract(epoch FROM revoked_at) * 1000)::float8 AS revoked_at,
       floor(extract(epoch FROM last_used_at) * 1000)::float8 AS last_used_at
FROM toren_control.api_keys k ORDER BY k.created_at DESC, k.key_id
