-- Renew a worker's leases of one agent in one statement; says for each whether it is still held, and how far its inbox reaches.
-- Locks: stream rows ORDER BY (run_id, stream_id), SKIP LOCKED: a row that somebody holds (psql, an append on its way, which renews it anyway) must not
-- keep the others from being renewed until they run out.
-- $1 ord int[]  $2 run uuid[]  $3 stream text[]  $4 epoch bigint[]  $5 owner uuid[]  $6 lease ms int
-- Returns a row for each. `mine`: the row has my epoch and owner; with no inbox_seq it was locked. A lease that ran out and that nobody took is still its
-- owner's. `watched`: somebody watches the run.
WITH want AS MATERIALIZED (
  SELECT * FROM unnest($1::int[], $2::uuid[], $3::text[], $4::bigint[], $5::uuid[]) AS w(ord, run_id, stream_id, epoch, owner)
), mine AS MATERIALIZED (
  SELECT w.ord, s.run_id, s.stream_id
  FROM want w JOIN :agent.streams s ON s.run_id = w.run_id AND s.stream_id = w.stream_id AND s.lease_epoch = w.epoch AND s.lease_owner = w.owner
), locked AS MATERIALIZED (
  SELECT w.ord, s.run_id, s.stream_id
  FROM want w JOIN :agent.streams s ON s.run_id = w.run_id AND s.stream_id = w.stream_id AND s.lease_epoch = w.epoch AND s.lease_owner = w.owner
  ORDER BY s.run_id, s.stream_id FOR UPDATE OF s SKIP LOCKED
), renewed AS (
  UPDATE :agent.streams s SET lease_until = clock_timestamp() + $6::int * interval '1 ms'
  FROM locked l WHERE s.run_id = l.run_id AND s.stream_id = l.stream_id
  RETURNING l.ord, s.inbox_seq
)
SELECT w.ord, r.inbox_seq, EXISTS (SELECT FROM mine m WHERE m.ord = w.ord) AS mine,
       EXISTS (SELECT FROM toren_control.run_watchers o WHERE o.run_id = w.run_id AND o.until > clock_timestamp()) AS watched, floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
FROM want w LEFT JOIN renewed r ON r.ord = w.ord
