-- A new key, by its hash. No row: it would have expired already. Locks: its own row.
-- $1 hash  $2 name  $3 how it begins  $4 scopes text[]  $5 agents text[] (null: all)  $6 expires ms float8 (null: never)  $7 who made it
INSERT INTO toren_control.api_keys (key_hash, name, begins, scopes, agents, expires_at, created_by)
SELECT $1::text, $2::text, $3::text, $4::text[], $5::text[], to_timestamp($6::float8 / 1000), $7::text
WHERE $6::float8 IS NULL OR to_timestamp($6::float8 / 1000) > clock_timestamp()
RETURNING key_id, name, begins, scopes, agents, created_by, floor(extract(epoch FROM created_at) * 1000)::float8 AS created_at,
       floor(extract(epoch FROM expires_at) * 1000)::float8 AS expires_at, floor(extract(epoch FROM revoked_at) * 1000)::float8 AS revoked_at,
       floor(extract(epoch FROM last_used_at) * 1000)::float8 AS last_used_at
