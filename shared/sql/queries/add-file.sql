-- Keeps a file. Its id is made of name and content, so an equal one is there already.
-- Locks: the one row, if new.
-- $1 id text  $2 name text  $3 media type text  $4 content bytea
INSERT INTO toren_control.files (id, name, media_type, bytes, content)
VALUES ($1::text, $2::text, $3::text, octet_length($4::bytea), $4::bytea) ON CONFLICT (id) DO NOTHING
