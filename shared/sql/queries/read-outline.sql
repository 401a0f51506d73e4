-- A stream's events in outline, for a page that draws thousands of them: what is said, asked and answered is cut to its beginning, `said`; what lies in a
-- blob says nothing. Whatever else is large is left out. No locks. $1 run uuid  $2 stream text  $3 after bigint  $4 limit int  $5 chars int
SELECT seq, type, floor(extract(epoch FROM recorded_at) * 1000)::float8 AS recorded_at, CASE type
  WHEN 'LlmCallCompleted' THEN payload - 'response' || jsonb_build_object(
    'said', left(jsonb_path_query_first(payload, '$.response.content[*] ? (@.type == "text").text') #>> '{}', $5::int),
    'stopReason', payload #> '{response,stopReason}', 'servedBy', payload #> '{response,servedBy}')
  WHEN 'ToolCallStarted' THEN payload - 'args' || jsonb_build_object('said', left(payload ->> 'args', $5::int))
  WHEN 'ApprovalRequested' THEN payload - 'args' || jsonb_build_object('said', left(payload ->> 'args', $5::int))
  WHEN 'ToolCallCompleted' THEN payload - 'result' || jsonb_build_object('said', left(payload ->> 'result', $5::int))
  WHEN 'TaskCompleted' THEN payload - 'result' || jsonb_build_object('said', left(payload ->> 'result', $5::int))
  WHEN 'StepCompleted' THEN payload - 'value' || jsonb_build_object('said', left(payload ->> 'value', $5::int))
  WHEN 'InputRequested' THEN payload - 'text' || jsonb_build_object('said', left(payload ->> 'text', $5::int))
  WHEN 'UserMessage' THEN payload - 'text' || jsonb_build_object('said', left(payload ->> 'text', $5::int))
  WHEN 'ContextCompacted' THEN payload - 'summary' || jsonb_build_object('said', left(payload ->> 'summary', $5::int))
  WHEN 'ChildStarted' THEN payload - 'input' || jsonb_build_object('said', left(payload ->> 'input', $5::int))
  WHEN 'RunContinued' THEN payload - ARRAY['input', 'signals'] || jsonb_build_object('said', left(payload ->> 'input', $5::int))
  WHEN 'ChildEnded' THEN payload - 'outcome' || jsonb_build_object('status', payload #> '{outcome,status}', 'error', payload #> '{outcome,error}')
  WHEN 'TaskSettled' THEN payload - 'outcome' || jsonb_build_object('status', payload #> '{outcome,status}', 'error', payload #> '{outcome,error}')
  ELSE CASE WHEN octet_length(payload::text) <= 4 * $5::int THEN payload ELSE (
    SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(payload) WHERE length(value::text) <= 2 * $5::int) END
  END AS payload
FROM :agent.events WHERE run_id = $1::uuid AND stream_id = $2::text AND seq > $3::bigint ORDER BY seq LIMIT $4::int
