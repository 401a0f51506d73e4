-- After a lost acknowledgement of plan: the run's stream, and which of the waves were complete when they were planned. No locks.
-- $1 run uuid  $2 waves int[]
SELECT s.head_seq, s.lease_epoch, s.inbox_seq,
       (SELECT coalesce(array_agg(v.wave ORDER BY v.wave), '{}') FROM :agent.waves v WHERE v.run_id = s.run_id AND v.wave = ANY ($2::int[]) AND v.signalled
          AND NOT EXISTS (SELECT 1 FROM :agent.inbox i WHERE i.run_id = v.run_id AND i.stream_id = 'run' AND i.key = 'wave:' || v.wave)) AS complete
FROM :agent.streams s WHERE s.run_id = $1::uuid AND s.stream_id = 'run'
