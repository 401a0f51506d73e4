-- Events of a run that concern calls, cuts, the ends of turns and of tasks, without what was said: enough for usage, cost and the receipt. No locks.
-- $1 run uuid  $2 after stream text  $3 after seq bigint  $4 limit int
SELECT stream_id, seq, type, payload - 'response' - 'result' - 'args' - 'text' AS payload, floor(extract(epoch FROM recorded_at) * 1000)::float8 AS recorded_at
FROM :agent.events
WHERE run_id = $1::uuid AND (stream_id, seq) > ($2::text, $3::bigint)
  AND type IN ('TaskStarted', 'LlmCallStarted', 'LlmCallCompleted', 'LlmCallFailed', 'ToolCallStarted', 'ToolCallCompleted', 'StreamInvalidated', 'CutRequested', 'InputRequested',
               'TaskCompleted', 'TaskFailed', 'TaskCancelled')
ORDER BY stream_id, seq LIMIT $4::int
