-- The guardian has made a pass. Locks: the one row.
UPDATE toren_control.pulse SET passed_at = clock_timestamp()
