-- The run that create-run met: under the same idempotency key, else under the same id. No locks.
-- $1 run uuid  $2 idempotency key (or null)
SELECT run_id, request_digest FROM :agent.runs WHERE idempotency_key = $2::text OR run_id = $1::uuid
ORDER BY (idempotency_key IS NOT DISTINCT FROM $2::text) DESC LIMIT 1
