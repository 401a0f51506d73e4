-- Whether the guardian will have something to look at soon: a live lease, a ready stream, a timer. By the index on wake_at. No locks.
-- $1 how soon ms int
SELECT EXISTS (SELECT FROM :agent.streams WHERE wake_at <= statement_timestamp() + $1::int * interval '1 ms') AS soon
