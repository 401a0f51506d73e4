-- Keeps the hash of a key. An equal one is there already: it stays as it is. Locks: the one row, if new. $1 hash text  $2 name text
INSERT INTO toren_control.api_keys (key_hash, name) VALUES ($1::text, $2::text) ON CONFLICT DO NOTHING
