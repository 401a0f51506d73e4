-- The guardian takes up a beat: the pulse rests until it is started again, which its caller does when anything is due soon. Resting first, then looking what is
-- due, then starting: what becomes due in between finds a pulse that it can start itself. No row: not the beat that is awaited (a double).
-- Locks: the one row. $1 beat bigint
UPDATE toren_control.pulse SET next_at = '-infinity' WHERE beat = $1::bigint AND next_at > '-infinity' RETURNING beat
