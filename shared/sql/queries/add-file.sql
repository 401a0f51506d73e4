-- Keeps a file. Its id is made of name and content, so an equal one is there already. Its content is here, or in the object store under a key.
-- Locks: the one row, if new.
-- $1 id text  $2 name text  $3 media type text  $4 bytes int  $5 content bytea (or null)  $6 object key text (or null)  $7 pages int (or null)  $8 page text text (or null)
-- $9 with which key content and page text are sealed, wrapped (null: they aren't)
INSERT INTO toren_control.files (id, name, media_type, bytes, content, object_key, pages, page_text, data_key)
VALUES ($1::text, $2::text, $3::text, $4::int, $5::bytea, $6::text, $7::int, $8::text, $9::text) ON CONFLICT (id) DO NOTHING
