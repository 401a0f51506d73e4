-- What the recorded answers of some tasks cost together, and those of some children and of what stands below them; those that a cut took away don't count,
-- nor do failed tries: it says what asking anew will cost. `usd` null: a price is unknown. No locks.
-- $1 run uuid  $2 task ids text[]  $3 children uuid[]
WITH RECURSIVE tree AS (
  SELECT x AS run_id FROM unnest($3::uuid[]) AS x UNION ALL SELECT c.run_id FROM tree t JOIN :agent.runs c ON c.parent = t.run_id
)
SELECT count(*)::int AS calls, coalesce(bool_or((e.payload #>> '{cost,simulated}')::bool), false) AS simulated,
       CASE WHEN count(*) = count(e.payload #> '{cost,usd}') THEN coalesce(sum((e.payload #>> '{cost,usd}')::numeric), 0)::float8 END AS usd
FROM :agent.events e
WHERE ((e.run_id = $1::uuid AND e.stream_id = ANY (SELECT 'task:' || x FROM unnest($2::text[]) x)) OR e.run_id IN (SELECT run_id FROM tree))
  AND e.type = 'LlmCallCompleted'
  AND NOT EXISTS (SELECT FROM :agent.events c WHERE c.run_id = e.run_id AND c.stream_id = e.stream_id AND c.type = 'StreamInvalidated'
                  AND c.seq > e.seq AND (c.payload ->> 'fromSeq')::bigint <= e.seq)
