-- The append (I2) for a batch in which nothing settles, parks, ends, releases or goes on after a wait: append-full without all of these.
-- One item costs 1.2–1.4 × a bare insert, where append-full costs 1.7–2.3 ×: choose by the batch, not by the item. Both run side by side.
-- Locks: stream rows ORDER BY (run_id, stream_id).
-- The compare is made where the row is locked, so it holds what is true after the wait.
-- The lease's renewal is heap-only (lease_until isn't indexed). An item's events are its slice of $10 and $11, never found by the stream: that lets a
-- zombie's event in. A slice by place costs what it holds; a join by ord is a nested loop here (128 items: twice the whole statement's cost).
-- $1 ord int[]  $2 run uuid[]  $3 stream text[]  $4 head bigint[]  $5 epoch bigint[]  $6 n int[]  $7 progress bool[]  $8 lease ms int[]
-- $9 before int[] (events of the items before it)       $10 type text[]   $11 payloads, a jsonb array      (one entry an event, the items' in their order)
-- $12 what the items add to their streams' counts bigint[], nine an item, as append-one's
-- Returns ord and inbox_seq; a missing ord is a conflict. inbox_seq comes from RETURNING: a subselect would show the snapshot (I10).
WITH want AS MATERIALIZED (
  SELECT * FROM unnest($1::int[], $2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::int[], $7::bool[], $8::int[], $9::int[])
    AS w(ord, run_id, stream_id, head, epoch, n, progress, lease_ms, before)
), locked AS MATERIALIZED (
  SELECT w.* FROM :agent.streams s JOIN want w USING (run_id, stream_id)
  WHERE s.head_seq = w.head AND s.lease_epoch = w.epoch AND s.lease_owner IS NOT NULL
  ORDER BY s.run_id, s.stream_id FOR UPDATE OF s
), moved AS (
  UPDATE :agent.streams s SET
    head_seq = l.head + l.n,
    lease_until = clock_timestamp() + l.lease_ms * interval '1 ms',
    attempts = CASE WHEN l.progress THEN 0 ELSE s.attempts END,
    solo_attempts = CASE WHEN l.progress THEN 0 ELSE s.solo_attempts END,
    problem = NULL,
    model_calls = s.model_calls + coalesce(($12::bigint[])[l.ord * 9 + 1], 0),
    tokens_in = s.tokens_in + coalesce(($12::bigint[])[l.ord * 9 + 2], 0),
    tokens_out = s.tokens_out + coalesce(($12::bigint[])[l.ord * 9 + 3], 0),
    cost_nano = s.cost_nano + coalesce(($12::bigint[])[l.ord * 9 + 4], 0),
    unpriced = s.unpriced + coalesce(($12::bigint[])[l.ord * 9 + 5], 0),
    simulated = s.simulated OR coalesce(($12::bigint[])[l.ord * 9 + 6], 0) > 0,
    retries = s.retries + coalesce(($12::bigint[])[l.ord * 9 + 7], 0),
    cuts = s.cuts + coalesce(($12::bigint[])[l.ord * 9 + 8], 0),
    replays = s.replays + coalesce(($12::bigint[])[l.ord * 9 + 9], 0),
    paid_nano = CASE WHEN ($12::bigint[])[l.ord * 9 + 4] > 0 AND s.paid_day IS DISTINCT FROM (clock_timestamp() AT TIME ZONE 'UTC')::date THEN 0 ELSE s.paid_nano END + coalesce(($12::bigint[])[l.ord * 9 + 4], 0),
    paid_day = CASE WHEN ($12::bigint[])[l.ord * 9 + 4] > 0 THEN (clock_timestamp() AT TIME ZONE 'UTC')::date ELSE s.paid_day END
  FROM locked l
  WHERE s.run_id = l.run_id AND s.stream_id = l.stream_id
  RETURNING l.ord, s.run_id, s.stream_id, l.head, l.n, l.before, s.inbox_seq
), written AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload)
  SELECT m.run_id, m.stream_id, m.head + i, ($10::text[])[m.before + i], $11::jsonb -> (m.before + i - 1)
  FROM moved m, generate_series(1, m.n) AS i
)
SELECT ord, inbox_seq FROM moved
