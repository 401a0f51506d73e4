-- The name of a key, by its hash. No locks. $1 hash text
SELECT name FROM toren_control.api_keys WHERE key_hash = $1::text
