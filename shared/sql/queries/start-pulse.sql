-- Starts the pulse if it rests, or was lost: the caller then has to send the message of the beat that this answers. No row: it goes already.
-- Locks: the one row, if it changes; a pulse that goes costs a read.
-- $1 until the next beat ms int  $2 a beat that is so late is lost ms int
UPDATE toren_control.pulse SET beat = beat + 1, next_at = clock_timestamp() + $1::int * interval '1 ms'
WHERE next_at < clock_timestamp() - $2::int * interval '1 ms' RETURNING beat
