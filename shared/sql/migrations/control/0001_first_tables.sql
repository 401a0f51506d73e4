-- The first tables of toren_control; schema/control.sql says what they are for.
CREATE TABLE toren_control.agents (
  agent text PRIMARY KEY CHECK (agent ~ '^[a-z][a-z0-9_]{0,40}$'),
  generation int NOT NULL DEFAULT 0,
  code_hash text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE toren_control.deployments (
  agent text NOT NULL REFERENCES toren_control.agents,
  generation int NOT NULL,
  code_hash text NOT NULL,
  registered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (agent, generation)
);
CREATE TABLE toren_control.queue_messages (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue text NOT NULL,
  body jsonb NOT NULL CHECK (jsonb_typeof(body) = 'object'),
  dedupe_key text,
  sent_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  visible_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  receive_count int NOT NULL DEFAULT 0,
  receipt uuid,
  dead_at timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX queue_messages_visible ON toren_control.queue_messages (queue, visible_at) WHERE dead_at IS NULL;
CREATE INDEX queue_messages_dead ON toren_control.queue_messages (visible_at) WHERE dead_at IS NOT NULL;
CREATE UNIQUE INDEX queue_messages_receipt ON toren_control.queue_messages (receipt) WHERE receipt IS NOT NULL;
CREATE UNIQUE INDEX queue_messages_dedupe ON toren_control.queue_messages (queue, dedupe_key) WHERE dedupe_key IS NOT NULL AND receipt IS NULL AND dead_at IS NULL;
CREATE TABLE toren_control.dead_letters (
  message_id text PRIMARY KEY,
  queue text NOT NULL,
  body jsonb NOT NULL,
  receive_count int NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE toren_control.files (
  id text PRIMARY KEY,
  name text NOT NULL,
  media_type text NOT NULL,
  bytes int NOT NULL,
  content bytea NOT NULL,
  pages int,
  page_text text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX files_newest ON toren_control.files (created_at, id);
CREATE TABLE toren_control.run_index (
  run_id uuid PRIMARY KEY,
  agent text NOT NULL
);
