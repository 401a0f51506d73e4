-- Cool-downs that haven't ended, and the clock; one row at least. No locks.
SELECT g.key, floor(extract(epoch FROM g.cool_until) * 1000)::float8 AS until, floor(extract(epoch FROM c.now) * 1000)::float8 AS now
FROM (SELECT clock_timestamp() AS now) c LEFT JOIN toren_control.gates g ON g.cool_until > c.now
