-- Budgets of runs. A stream's reservation stands in its own row; the sums of a run's stand in its budget.
ALTER TABLE :agent.streams ADD COLUMN hold_tokens bigint NOT NULL DEFAULT 0, ADD COLUMN hold_nano bigint NOT NULL DEFAULT 0;

CREATE TABLE :agent.budgets (
  run_id uuid PRIMARY KEY,
  cap_tokens bigint,
  cap_nano bigint,
  reserved_tokens bigint NOT NULL DEFAULT 0,
  reserved_nano bigint NOT NULL DEFAULT 0,
  spent_tokens bigint NOT NULL DEFAULT 0,
  spent_nano bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
