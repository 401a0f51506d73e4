-- Holds a file that is to be removed. A run that is being created holds its files too (create-run): who waited for it sees it in find-file-use.
-- Locks: the one row, FOR UPDATE, and nothing after it.
-- $1 id text
SELECT id FROM toren_control.files WHERE id = $1::text FOR UPDATE
