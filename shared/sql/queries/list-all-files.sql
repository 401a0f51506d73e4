-- All files without their content, newest first. `place` is created_at to the microsecond as text; the cursor is made of it and the id.
-- ORDER BY names the table's column: unqualified it would mean the milliseconds selected here, and a page would lose files of one millisecond.
-- No locks. $1 place of the last file seen (null: from the newest)  $2 its id  $3 limit int
SELECT id, name, media_type, bytes, pages, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS place,
       floor(extract(epoch FROM created_at) * 1000)::float8 AS created_at
FROM toren_control.files f
WHERE ($1::text IS NULL OR (f.created_at, f.id) < ($1::text::timestamptz, $2::text))
ORDER BY f.created_at DESC, f.id DESC LIMIT $3::int
