-- What was said in a session before some place in its log, newest first, with how many such events there are in all. A message of white space alone says
-- nothing, and an end without a new answer was said before. No locks. $1 run uuid  $2 before seq bigint or null: from the end  $3 limit int
WITH said AS MATERIALIZED (
  SELECT e.seq FROM :agent.events e
  WHERE e.run_id = $1::uuid AND e.stream_id = 'task:w0t0' AND CASE e.type
    WHEN 'InputRequested' THEN true
    WHEN 'UserMessage' THEN btrim(e.payload ->> 'text', E' \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff') <> ''
    WHEN 'TaskCompleted' THEN 'LlmCallCompleted' = (
      SELECT b.type FROM :agent.events b WHERE b.run_id = e.run_id AND b.stream_id = e.stream_id AND b.seq < e.seq
        AND b.type IN ('InputRequested', 'LlmCallCompleted') ORDER BY b.seq DESC LIMIT 1)
    ELSE false END
)
SELECT c.count::int, t.*
FROM (SELECT count(*) FROM said) c LEFT JOIN LATERAL (
  SELECT e.seq::float8 AS seq, CASE WHEN e.type = 'UserMessage' THEN 'user' ELSE 'agent' END AS by, e.payload,
         floor(extract(epoch FROM e.recorded_at) * 1000)::float8 AS at
  FROM said JOIN :agent.events e ON e.run_id = $1::uuid AND e.stream_id = 'task:w0t0' AND e.seq = said.seq
  WHERE $2::bigint IS NULL OR e.seq < $2::bigint ORDER BY e.seq DESC LIMIT $3::int
) t ON true
ORDER BY t.seq DESC
