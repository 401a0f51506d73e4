-- The append (I2) for a batch in which nothing settles, parks, ends, releases or goes on after a wait: append-full without all of these.
-- One item costs 1.2–1.4 × a bare insert, where append-full costs 1.7–2.3 ×: choose by the batch, not by the item. Both run side by side.
-- Locks: stream rows ORDER BY (run_id, stream_id).
-- The compare is made where the row is locked, so it holds what is true after the wait.
-- The lease's renewal is heap-only (lease_until isn't indexed). Joined by the item, never by the stream: that lets a zombie's event in.
-- $1 ord int[]  $2 run uuid[]  $3 stream text[]  $4 head bigint[]  $5 epoch bigint[]  $6 n int[]  $7 progress bool[]  $8 lease ms int[]
-- $9 ord int[]  $10 i int[]    $11 type text[]   $12 payload jsonb[]      (one entry an event, i = 1..n)
-- Returns ord and inbox_seq; a missing ord is a conflict. inbox_seq comes from RETURNING: a subselect would show the snapshot (I10).
WITH want AS MATERIALIZED (
  SELECT * FROM unnest($1::int[], $2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::int[], $7::bool[], $8::int[])
    AS w(ord, run_id, stream_id, head, epoch, n, progress, lease_ms)
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
    problem = NULL
  FROM locked l
  WHERE s.run_id = l.run_id AND s.stream_id = l.stream_id
  RETURNING l.ord, s.run_id, s.stream_id, l.head, s.inbox_seq
), written AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload)
  SELECT m.run_id, m.stream_id, m.head + e.i, e.type, e.payload
  FROM unnest($9::int[], $10::int[], $11::text[], $12::jsonb[]) AS e(ord, i, type, payload) JOIN moved m USING (ord)
)
SELECT ord, inbox_seq FROM moved
