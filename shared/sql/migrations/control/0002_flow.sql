-- How much is done at once, over all workers; schema/control.sql says what the tables are for.
CREATE TABLE toren_control.gates (
  key text COLLATE "C" PRIMARY KEY,
  places int NOT NULL,
  per_minute float8,
  inside int NOT NULL DEFAULT 0,
  waiting int NOT NULL DEFAULT 0,
  level float8 NOT NULL DEFAULT 0,
  cool_until timestamptz,
  moved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX gates_cooling ON toren_control.gates (cool_until) WHERE cool_until IS NOT NULL;
CREATE INDEX gates_oldest ON toren_control.gates (created_at);
CREATE TABLE toren_control.gate_entries (
  key text COLLATE "C" NOT NULL REFERENCES toren_control.gates ON DELETE CASCADE,
  agent text NOT NULL,
  run_id uuid NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  inside boolean NOT NULL,
  until timestamptz NOT NULL,
  since timestamptz NOT NULL,
  places int NOT NULL,
  per_minute float8,
  tokens float8 NOT NULL,
  call_due timestamptz,
  calls int NOT NULL DEFAULT 0,
  PRIMARY KEY (key, run_id, stream_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX gate_entries_ends ON toren_control.gate_entries (key, until);
CREATE INDEX gate_entries_queue ON toren_control.gate_entries (key, since, run_id, stream_id) WHERE NOT inside;
CREATE INDEX gate_entries_places ON toren_control.gate_entries (run_id, stream_id) WHERE inside;
