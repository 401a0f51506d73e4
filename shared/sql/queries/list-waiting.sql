-- What runs wait for a person for: undecided approvals and cuts, those runs first that are oldest. Whoever waits has asked in the last events of its
-- stream, so those alone are read: a long run costs no more than a short one. No locks.
-- $1 runs int  $2 events of a stream's end int  $3 rows int
WITH waiting AS MATERIALIZED (
  SELECT run_id, process, status, created_at FROM :agent.runs WHERE status IN ('waitingApproval', 'waitingCut') ORDER BY created_at, run_id LIMIT $1::int
)
SELECT w.run_id, w.process, w.status, floor(extract(epoch FROM w.created_at) * 1000)::float8 AS created_at,
       e.stream_id, e.seq, e.type, e.payload, floor(extract(epoch FROM e.recorded_at) * 1000)::float8 AS recorded_at
FROM waiting w
JOIN :agent.streams s ON s.run_id = w.run_id AND s.wait IN ('approval', 'cut') AND s.status <> 'ended'
JOIN LATERAL (
  SELECT * FROM :agent.events e
  WHERE e.run_id = s.run_id AND e.stream_id = s.stream_id AND e.seq > s.head_seq - $2::int
    AND e.type = CASE s.wait WHEN 'cut' THEN 'CutRequested' ELSE 'ApprovalRequested' END
    AND NOT EXISTS (SELECT FROM :agent.inbox i WHERE i.run_id = e.run_id AND i.stream_id = e.stream_id AND i.key = 'decision:' || (e.payload ->> 'key'))
    AND NOT EXISTS (SELECT FROM :agent.events c WHERE c.run_id = e.run_id AND c.stream_id = e.stream_id AND c.type = 'StreamInvalidated'
                    AND c.seq > e.seq AND (c.payload ->> 'fromSeq')::bigint <= e.seq)
) e ON true
ORDER BY w.created_at, w.run_id, e.recorded_at, e.stream_id, e.seq LIMIT $3::int
