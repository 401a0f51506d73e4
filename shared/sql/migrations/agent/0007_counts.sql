-- What a stream's model calls came to, counted by the statement that records them, so that lists and sums needn't read the log.
ALTER TABLE :agent.streams
  ADD COLUMN model_calls int NOT NULL DEFAULT 0,
  ADD COLUMN tokens_in bigint NOT NULL DEFAULT 0,
  ADD COLUMN tokens_out bigint NOT NULL DEFAULT 0,
  ADD COLUMN cost_nano bigint NOT NULL DEFAULT 0,
  ADD COLUMN unpriced int NOT NULL DEFAULT 0,
  ADD COLUMN simulated boolean NOT NULL DEFAULT false,
  ADD COLUMN retries int NOT NULL DEFAULT 0,
  ADD COLUMN cuts int NOT NULL DEFAULT 0,
  ADD COLUMN replays int NOT NULL DEFAULT 0,
  ADD COLUMN paid_nano bigint NOT NULL DEFAULT 0,
  ADD COLUMN paid_day date;
CREATE INDEX streams_paid ON :agent.streams (paid_day) WHERE paid_day IS NOT NULL;
UPDATE :agent.streams s SET
  model_calls = c.calls, tokens_in = c.tokens_in, tokens_out = c.tokens_out, cost_nano = c.cost_nano, unpriced = c.unpriced, simulated = c.simulated,
  retries = c.retries, cuts = c.cuts
FROM (
  SELECT run_id, stream_id,
    count(*) FILTER (WHERE type = 'LlmCallCompleted') AS calls,
    coalesce(sum((payload #>> '{usage,input}')::bigint + (payload #>> '{usage,cacheRead}')::bigint + (payload #>> '{usage,cacheWrite}')::bigint), 0) AS tokens_in,
    coalesce(sum((payload #>> '{usage,output}')::bigint), 0) AS tokens_out,
    coalesce(sum(round((payload #>> '{cost,usd}')::numeric * 1000000000)), 0)::bigint AS cost_nano,
    count(*) FILTER (WHERE type = 'LlmCallCompleted' AND payload #> '{cost,usd}' IS NULL) AS unpriced,
    coalesce(bool_or((payload #>> '{cost,simulated}')::bool), false) AS simulated,
    count(*) FILTER (WHERE type = 'LlmCallFailed') AS retries,
    count(*) FILTER (WHERE type = 'StreamInvalidated') AS cuts
  FROM :agent.events WHERE type IN ('LlmCallCompleted', 'LlmCallFailed', 'StreamInvalidated') GROUP BY run_id, stream_id
) c
WHERE s.run_id = c.run_id AND s.stream_id = c.stream_id;
