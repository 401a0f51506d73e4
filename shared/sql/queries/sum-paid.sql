-- What was paid on this day (UTC). No locks.
SELECT coalesce(sum(paid_nano), 0)::float8 AS nano, coalesce(bool_or(simulated), false) AS simulated
FROM :agent.streams WHERE paid_day = (clock_timestamp() AT TIME ZONE 'UTC')::date
