-- Forgets runs that have ended, with all that is theirs: some at a time, the oldest first. Never one that goes on, or whose tasks are still being stopped.
-- Whoever retries such a run at this moment has its stream's row, and it is passed over; who comes later finds none.
-- What requests begin with (request_headers) is of the code and stays; so does the audit.
-- Locks: the streams' rows of the runs, SKIP LOCKED for their own; then what is deleted, which nobody else writes.
-- $1 run ids uuid[] (null: by age)  $2 ended before so many ms float8  $3 runs int  $4 events bigint (a run more may pass it)  $5 only look bool
WITH old AS MATERIALIZED (
  SELECT r.run_id, r.ended_at FROM :agent.runs r JOIN :agent.streams s ON s.run_id = r.run_id AND s.stream_id = 'run'
  WHERE s.status = 'ended' AND r.ended_at IS NOT NULL
    AND (r.run_id = ANY ($1::uuid[]) OR ($1::uuid[] IS NULL AND r.ended_at < now() - $2::float8 * interval '1 ms'))
    AND NOT EXISTS (SELECT 1 FROM :agent.streams t WHERE t.run_id = r.run_id AND t.status <> 'ended')
  ORDER BY r.ended_at, r.run_id LIMIT $3::int FOR UPDATE OF s SKIP LOCKED
), counted AS (
  SELECT o.run_id, o.ended_at, (SELECT sum(s.head_seq) FROM :agent.streams s WHERE s.run_id = o.run_id) AS events FROM old o
), gone AS MATERIALIZED (
  SELECT c.run_id, c.events FROM (SELECT *, sum(events) OVER (ORDER BY ended_at, run_id) - events AS before FROM counted) c WHERE c.before < $4::bigint
), listed AS MATERIALIZED (
  SELECT g.run_id, g.events, (SELECT array_agg(DISTINCT f.file_id) FROM :agent.run_files f WHERE f.run_id = g.run_id) AS files FROM gone g
), erased AS (
  SELECT run_id FROM gone WHERE NOT $5::bool
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
), index AS (DELETE FROM toren_control.run_index t USING erased e WHERE t.run_id = e.run_id
)
SELECT run_id, events::float8 AS events, coalesce(files, '{}') AS files FROM listed
