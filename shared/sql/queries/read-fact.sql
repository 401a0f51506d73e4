-- After deliver-fact gave 23505 or zero rows: the fact that won, or the stream's status, and whether its run is sealed. Its own statement: a new snapshot. No locks.
-- $1 run uuid  $2 stream text  $3 key text
SELECT s.status, i.seq, i.payload, floor(extract(epoch FROM i.recorded_at) * 1000)::float8 AS at,
       (SELECT r.data_key FROM :agent.runs r WHERE r.run_id = s.run_id) AS data_key
FROM :agent.streams s LEFT JOIN :agent.inbox i ON i.run_id = s.run_id AND i.stream_id = s.stream_id AND i.key = $3::text
WHERE s.run_id = $1::uuid AND s.stream_id = $2::text
