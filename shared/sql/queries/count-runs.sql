-- How many runs are in which of some statuses, by the index on status alone; of each at most so many are counted, so that the cost has a bound whatever
-- there is. A status that no run has is left out. The order, and connections without sequential scans, keep to the index. No locks. $1 statuses text[]  $2 at most int
SELECT w.status, c.count FROM unnest($1::text[]) AS w(status), LATERAL (
  SELECT count(*)::int AS count FROM (SELECT FROM :agent.runs r WHERE r.status = w.status ORDER BY r.created_at LIMIT $2::int) found) c
WHERE c.count > 0
