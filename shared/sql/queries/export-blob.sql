-- A run's next blob, whole: of one that is sealed parts can only be cut where it was opened. No locks.
-- $1 run uuid  $2 hash text  $3 the one of this hash itself, else the next after it bool
SELECT hash, bytes, content FROM :agent.blobs
WHERE run_id = $1::uuid AND CASE WHEN $3::bool THEN hash = $2::text ELSE hash > $2::text END ORDER BY hash LIMIT 1
