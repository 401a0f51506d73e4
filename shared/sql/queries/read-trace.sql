-- What a worker's spans need to know before it works on a stream: asked only where somebody traces. A look, not a lease: the answer may be old by the time
-- the stream is taken; what is decided by it is where a span hangs, never what is done.
-- Locks: none.
-- $1 run uuid  $2 stream text
-- Returns one row, or none: no such stream. `at_rest`: it has ended, or somebody else is at work on it: this worker will leave it alone.
SELECT r.trace_context, s.role,
       s.status = 'ended' OR (s.lease_owner IS NOT NULL AND s.lease_until >= clock_timestamp()) AS at_rest
FROM :agent.streams s JOIN :agent.runs r ON r.run_id = s.run_id
WHERE s.run_id = $1::uuid AND s.stream_id = $2::text
