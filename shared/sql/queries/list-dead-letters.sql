-- Dead letters, newest first. `place` is recorded_at to the microsecond as text that sorts. No locks.
-- $1 place of the last one seen (null: from the newest)  $2 its message id  $3 limit int  $4 only this message id (null: all)
SELECT message_id, queue, body, receive_count, to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS place,
       floor(extract(epoch FROM recorded_at) * 1000)::float8 AS recorded_at
FROM toren_control.dead_letters d
WHERE ($1::text IS NULL OR (d.recorded_at, d.message_id) < ($1::text::timestamptz, $2::text)) AND ($4::text IS NULL OR d.message_id = $4::text)
ORDER BY d.recorded_at DESC, d.message_id DESC LIMIT $3::int
