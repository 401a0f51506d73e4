-- What streams have counted, summed over all there ever were, so that metrics read one row. Streams of before are taken over by the guardian, some at each
-- pass; of runs that were erased before this migration nothing is known.
CREATE TABLE :agent.totals (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  runs_started bigint NOT NULL DEFAULT 0,
  runs_completed bigint NOT NULL DEFAULT 0,
  runs_failed bigint NOT NULL DEFAULT 0,
  runs_cancelled bigint NOT NULL DEFAULT 0,
  model_calls bigint NOT NULL DEFAULT 0,
  tokens_in bigint NOT NULL DEFAULT 0,
  tokens_out bigint NOT NULL DEFAULT 0,
  cost_nano bigint NOT NULL DEFAULT 0,
  simulated_nano bigint NOT NULL DEFAULT 0,
  unpriced bigint NOT NULL DEFAULT 0,
  retries bigint NOT NULL DEFAULT 0,
  cuts bigint NOT NULL DEFAULT 0,
  replays bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
INSERT INTO :agent.totals DEFAULT VALUES;
ALTER TABLE :agent.streams ADD COLUMN counted bigint[], ADD COLUMN count_at timestamptz DEFAULT '-infinity';
ALTER TABLE :agent.streams ALTER COLUMN count_at DROP DEFAULT;
CREATE INDEX streams_count ON :agent.streams (count_at) WHERE count_at IS NOT NULL;
