-- One file's content, or where it lies.
-- $1 id text
SELECT content, object_key, data_key FROM toren_control.files WHERE id = $1::text
