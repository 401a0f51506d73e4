-- Adds to the totals what some streams have counted since they were last added: those that somebody took since then, the longest first. One that is still
-- being worked on keeps its place in the index, behind all others; one that rests leaves it until somebody takes it again. So nobody ever sums up all
-- streams there are, and each costs one more update a time that it is worked on.
-- An end counts when its stream is added: between a stream's acquisition and its end it is added as running, and after it once.
-- Locks: stream rows, SKIP LOCKED, so their order is free; then the one row of totals, which everybody takes last.
-- $1 limit int  $2 taken so many ms ago at least int
-- Returns how many.
WITH taken AS MATERIALIZED (
  SELECT * FROM :agent.streams WHERE count_at <= statement_timestamp() - $2::int * interval '1 ms' ORDER BY count_at LIMIT $1::int FOR UPDATE SKIP LOCKED
), lacking AS MATERIALIZED (
  SELECT s.run_id, s.stream_id, s.status, s.stream_id = 'run' AS own, s.outcome, s.simulated, s.counted IS NULL AS fresh,
         ARRAY[s.model_calls - coalesce(s.counted[1], 0), s.tokens_in - coalesce(s.counted[2], 0), s.tokens_out - coalesce(s.counted[3], 0),
               s.cost_nano - coalesce(s.counted[4], 0), s.unpriced - coalesce(s.counted[5], 0), s.retries - coalesce(s.counted[6], 0),
               s.cuts - coalesce(s.counted[7], 0), s.replays - coalesce(s.counted[8], 0)] AS d
  FROM taken s
), noted AS (
  UPDATE :agent.streams s SET
    counted = ARRAY[s.model_calls, s.tokens_in, s.tokens_out, s.cost_nano, s.unpriced, s.retries, s.cuts, s.replays],
    count_at = CASE WHEN l.status = 'running' THEN clock_timestamp() END
  FROM lacking l WHERE s.run_id = l.run_id AND s.stream_id = l.stream_id
), added AS (
  UPDATE :agent.totals t SET
    runs_started = t.runs_started + l.started, runs_completed = t.runs_completed + l.completed, runs_failed = t.runs_failed + l.failed,
    runs_cancelled = t.runs_cancelled + l.cancelled, model_calls = t.model_calls + l.d1, tokens_in = t.tokens_in + l.d2, tokens_out = t.tokens_out + l.d3,
    cost_nano = t.cost_nano + l.d4, simulated_nano = t.simulated_nano + l.made_up, unpriced = t.unpriced + l.d5, retries = t.retries + l.d6,
    cuts = t.cuts + l.d7, replays = t.replays + l.d8
  FROM (SELECT count(*) FILTER (WHERE own AND fresh) AS started, count(*) FILTER (WHERE own AND outcome = 'completed') AS completed,
               count(*) FILTER (WHERE own AND outcome = 'failed') AS failed, count(*) FILTER (WHERE own AND outcome = 'cancelled') AS cancelled,
               sum(d[1]) AS d1, sum(d[2]) AS d2, sum(d[3]) AS d3, coalesce(sum(d[4]) FILTER (WHERE NOT simulated), 0) AS d4,
               coalesce(sum(d[4]) FILTER (WHERE simulated), 0) AS made_up, sum(d[5]) AS d5, sum(d[6]) AS d6, sum(d[7]) AS d7, sum(d[8]) AS d8
        FROM lacking HAVING count(*) > 0) l
  WHERE t.one
)
SELECT count(*)::int AS streams FROM taken
