-- The text of a PDF's pages, as it was read when the file was added.
-- $1 id text
SELECT page_text, data_key FROM toren_control.files WHERE id = $1::text
