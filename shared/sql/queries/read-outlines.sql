-- Runs of a list as they are now, without what went in and came out, which may be large; with what their model calls came to. No locks. $1 run uuid[]
SELECT r.run_id, r.process, r.mode, r.status, r.error, r.generation, r.attributes, r.parent, r.data_key,
       floor(extract(epoch FROM r.created_at) * 1000)::float8 AS created_at, floor(extract(epoch FROM r.ended_at) * 1000)::float8 AS ended_at,
       c.calls, c.tokens, c.nano, c.unpriced, c.simulated
FROM :agent.runs r, LATERAL (
  SELECT sum(s.model_calls)::int AS calls, sum(s.tokens_in + s.tokens_out)::float8 AS tokens, sum(s.cost_nano)::float8 AS nano,
         sum(s.unpriced)::int AS unpriced, bool_or(s.simulated) AS simulated
  FROM :agent.streams s WHERE s.run_id = r.run_id) c
WHERE r.run_id = ANY ($1::uuid[])
