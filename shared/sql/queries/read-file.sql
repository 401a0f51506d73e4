-- One file's content.
-- $1 id text
SELECT content FROM toren_control.files WHERE id = $1::text
