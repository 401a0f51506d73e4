-- Keeps a file. Its id is made of name and content, so an equal one is there already.
-- Locks: the one row, if new.
-- $1 id text  $2 name text  $3 media type text  $4 content bytea  $5 pages int (or null)  $6 page text text (or null)
INSERT INTO toren_control.files (id, name, media_type, bytes, content, pages, page_text)
VALUES ($1::text, $2::text, $3::text, octet_length($4::bytea), $4::bytea, $5::int, $6::text) ON CONFLICT (id) DO NOTHING
