-- Renews the places of streams that are worked on, at all gates. A place that ran out and that nobody has taken away is still its holder's.
-- Locks: entries by key, run and stream, SKIP LOCKED: it holds no gate's row, and waits for nobody who does. What it passes over is being moved just now.
-- $1 runs uuid[]  $2 streams text[]  $3 lease ms float8
WITH held AS MATERIALIZED (
  SELECT e.key, e.run_id, e.stream_id
  FROM (SELECT set_config('synchronous_commit', 'off', true)) relaxed, unnest($1::uuid[], $2::text[]) AS w(run_id, stream_id)
  JOIN toren_control.gate_entries e ON e.run_id = w.run_id AND e.stream_id = w.stream_id AND e.inside
  ORDER BY e.key, e.run_id, e.stream_id FOR UPDATE OF e SKIP LOCKED
)
UPDATE toren_control.gate_entries e SET until = clock_timestamp() + $3::float8 * interval '1 ms'
FROM held h WHERE e.key = h.key AND e.run_id = h.run_id AND e.stream_id = h.stream_id
