-- A session's state as of an event, if this version of the fold made it. No locks. $1 run uuid  $2 stream text  $3 fold version int
SELECT seq, absorbed, state FROM :agent.snapshots WHERE run_id = $1::uuid AND stream_id = $2::text AND version = $3::int
