-- Forgets runs that have ended, with all that is theirs: some at a time, the oldest first. Never one that goes on, or whose tasks are still being stopped.
-- A run's children go with it, and never before it: its log names them. So a tree is looked at, and counted, as one.
-- Whoever retries such a run at this moment has its stream's row, and it is passed over; who comes later finds none.
-- What requests begin with (request_headers) is of the code and stays; so does the audit.
-- Locks: the runs' own stream rows, SKIP LOCKED; then the stream rows that the totals lack something of; then the row of totals; then what is deleted,
-- which nobody else writes. What the totals lack is added as in count-streams, which locks in the same order: read unlocked, it would be added twice where
-- count-streams is at work on it.
-- $1 run ids uuid[] (null: by age)  $2 ended before so many ms float8  $3 runs int  $4 events bigint (a run more may pass it)  $5 only look bool
WITH old AS MATERIALIZED (
  SELECT r.run_id, r.ended_at FROM :agent.runs r JOIN :agent.streams s ON s.run_id = r.run_id AND s.stream_id = 'run'
  WHERE s.status = 'ended' AND r.ended_at IS NOT NULL
    AND (r.run_id = ANY ($1::uuid[]) OR ($1::uuid[] IS NULL AND r.ended_at < now() - $2::float8 * interval '1 ms'))
    AND r.parent IS NULL
    AND NOT EXISTS (SELECT 1 FROM :agent.streams t WHERE t.run_id = r.run_id AND t.status <> 'ended')
    AND NOT EXISTS (SELECT 1 FROM :agent.runs c JOIN :agent.streams t ON t.run_id = c.run_id WHERE c.root = r.run_id AND t.status <> 'ended')
  ORDER BY r.ended_at, r.run_id LIMIT $3::int FOR UPDATE OF s SKIP LOCKED
), counted AS (
  SELECT o.run_id, o.ended_at, (SELECT sum(s.head_seq) FROM :agent.streams s WHERE s.run_id = o.run_id)
    + coalesce((SELECT sum(s.head_seq) FROM :agent.runs c JOIN :agent.streams s ON s.run_id = c.run_id WHERE c.root = o.run_id), 0) AS events
  FROM old o
), gone AS MATERIALIZED (
  SELECT c.run_id, c.events FROM (SELECT *, sum(events) OVER (ORDER BY ended_at, run_id) - events AS before FROM counted) c WHERE c.before < $4::bigint
), listed AS MATERIALIZED (
  SELECT g.run_id, g.events, (SELECT array_agg(DISTINCT f.file_id) FROM :agent.run_files f WHERE f.run_id = g.run_id) AS files FROM gone g
), erased AS MATERIALIZED (
  SELECT run_id FROM gone WHERE NOT $5::bool
  UNION ALL SELECT c.run_id FROM gone g JOIN :agent.runs c ON c.root = g.run_id WHERE NOT $5::bool
), events AS (DELETE FROM :agent.events t USING erased e WHERE t.run_id = e.run_id
), inbox AS (DELETE FROM :agent.inbox t USING erased e WHERE t.run_id = e.run_id
), specs AS (DELETE FROM :agent.task_specs t USING erased e WHERE t.run_id = e.run_id
), snapshots AS (DELETE FROM :agent.snapshots t USING erased e WHERE t.run_id = e.run_id
), blobs AS (DELETE FROM :agent.blobs t USING erased e WHERE t.run_id = e.run_id
), files AS (DELETE FROM :agent.run_files t USING erased e WHERE t.run_id = e.run_id
), terms AS (DELETE FROM :agent.run_terms t USING erased e WHERE t.run_id = e.run_id
), streams AS (DELETE FROM :agent.streams t USING erased e WHERE t.run_id = e.run_id
), budgets AS (DELETE FROM :agent.budgets t USING erased e WHERE t.run_id = e.run_id
), waves AS (DELETE FROM :agent.waves t USING erased e WHERE t.run_id = e.run_id
), runs AS (DELETE FROM :agent.runs t USING erased e WHERE t.run_id = e.run_id
), lacking AS MATERIALIZED (
  SELECT s.stream_id = 'run' AS own, s.outcome, s.simulated, s.counted IS NULL AS fresh, ARRAY[s.model_calls - coalesce(s.counted[1], 0),
         s.tokens_in - coalesce(s.counted[2], 0), s.tokens_out - coalesce(s.counted[3], 0), s.cost_nano - coalesce(s.counted[4], 0),
         s.unpriced - coalesce(s.counted[5], 0), s.retries - coalesce(s.counted[6], 0), s.cuts - coalesce(s.counted[7], 0), s.replays - coalesce(s.counted[8], 0)] AS d
  FROM :agent.streams s JOIN erased e ON e.run_id = s.run_id WHERE s.count_at IS NOT NULL ORDER BY s.run_id, s.stream_id FOR UPDATE OF s
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
), index AS (DELETE FROM toren_control.run_index t USING erased e WHERE t.run_id = e.run_id
)
SELECT run_id, events::float8 AS events, coalesce(files, '{}') AS files FROM listed
