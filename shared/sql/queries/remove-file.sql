-- Removes a file. What ended runs recorded of it stays in their logs. The answer says what is to be removed from the object store, if anything.
-- Locks: the one row, which the transaction holds already (hold-file).
-- $1 id text
DELETE FROM toren_control.files WHERE id = $1::text RETURNING object_key
