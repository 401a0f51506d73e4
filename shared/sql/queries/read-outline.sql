-- A stream's events in outline, for a page that draws thousands of them: what is said, asked and answered is cut to its beginning, `said`; what lies in a
-- blob says nothing. Whatever else is large is left out. What is sealed can't be cut here: it comes whole, if it isn't too large, for the reader to open.
-- No locks. $1 run uuid  $2 stream text  $3 after bigint  $4 limit int  $5 chars int  $6 the mark of sealed values  $7 characters of a sealed one at most int
SELECT e.seq, e.type, floor(extract(epoch FROM e.recorded_at) * 1000)::float8 AS recorded_at,
  CASE WHEN e.type = 'LlmCallCompleted' THEN 'response.content' ELSE f.field END AS said_of,
  CASE WHEN e.type IN ('ChildEnded', 'TaskSettled') THEN 'outcome.error' END AS error_of,
  CASE
  WHEN e.type = 'LlmCallCompleted' THEN payload - 'response' || jsonb_build_object(
    'said', CASE WHEN payload #> '{response,content}' ? $6::text
                 THEN CASE WHEN length(payload #> '{response,content}' ->> $6::text) <= $7::int THEN payload #> '{response,content}' END
                 ELSE to_jsonb(left(jsonb_path_query_first(payload, '$.response.content[*] ? (@.type == "text").text') #>> '{}', $5::int)) END,
    'stopReason', payload #> '{response,stopReason}', 'servedBy', payload #> '{response,servedBy}')
  WHEN e.type IN ('ChildEnded', 'TaskSettled') THEN
    payload - 'outcome' || jsonb_build_object('status', payload #> '{outcome,status}', 'error', payload #> '{outcome,error}')
  WHEN f.field IS NOT NULL THEN payload - ARRAY[f.field, 'signals'] || jsonb_build_object(
    'said', CASE WHEN payload -> f.field ? $6::text THEN CASE WHEN length(payload -> f.field ->> $6::text) <= $7::int THEN payload -> f.field END
                 ELSE to_jsonb(left(payload ->> f.field, $5::int)) END)
  WHEN octet_length(payload::text) <= 4 * $5::int THEN payload
  ELSE (SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(payload) WHERE length(value::text) <= 2 * $5::int)
  END AS payload
FROM :agent.events e,
LATERAL (SELECT CASE e.type
  WHEN 'ToolCallStarted' THEN 'args' WHEN 'ApprovalRequested' THEN 'args' WHEN 'ToolCallCompleted' THEN 'result' WHEN 'TaskCompleted' THEN 'result'
  WHEN 'StepCompleted' THEN 'value' WHEN 'InputRequested' THEN 'text' WHEN 'UserMessage' THEN 'text' WHEN 'ContextCompacted' THEN 'summary'
  WHEN 'ChildStarted' THEN 'input' WHEN 'RunContinued' THEN 'input' END AS field) f
WHERE e.run_id = $1::uuid AND e.stream_id = $2::text AND e.seq > $3::bigint ORDER BY e.seq LIMIT $4::int
