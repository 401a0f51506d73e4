-- After a lost acknowledgement: what the streams look like now, for appends that a repetition found to conflict. Its own statement: a new snapshot.
-- No locks. $1 ord int[]  $2 run uuid[]  $3 stream text[]
SELECT w.ord, s.head_seq, s.lease_epoch, s.lease_owner, s.inbox_seq, s.status, coalesce(v.signalled, false) AS rang
FROM unnest($1::int[], $2::uuid[], $3::text[]) AS w(ord, run_id, stream_id)
JOIN :agent.streams s ON s.run_id = w.run_id AND s.stream_id = w.stream_id
LEFT JOIN :agent.waves v ON v.run_id = s.run_id AND v.wave = s.wave
