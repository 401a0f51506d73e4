-- The first tables of an agent's schema; schema/agent.sql says what they are for.
CREATE TABLE :agent.runs (
  run_id uuid PRIMARY KEY,
  process text NOT NULL,
  mode text NOT NULL DEFAULT 'task' CHECK (mode IN ('task', 'session')),
  input jsonb NOT NULL,
  output jsonb,
  error jsonb,
  generation int NOT NULL,
  code_hash text NOT NULL,
  idempotency_key text,
  request_digest text NOT NULL,
  ended text CHECK (ended IN ('completed', 'failed', 'cancelled')),
  waiting_cut int NOT NULL DEFAULT 0,
  waiting_approval int NOT NULL DEFAULT 0,
  waiting_input int NOT NULL DEFAULT 0,
  phase text NOT NULL DEFAULT 'created' CHECK (phase IN ('created', 'running', 'waitingRetry', 'waitingTimer')),
  status text NOT NULL GENERATED ALWAYS AS (CASE WHEN ended IS NOT NULL THEN ended WHEN waiting_cut > 0 THEN 'waitingCut'
    WHEN waiting_approval > 0 THEN 'waitingApproval' WHEN waiting_input > 0 THEN 'awaitingInput' ELSE phase END) STORED,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE UNIQUE INDEX runs_idempotency_key ON :agent.runs (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX runs_newest ON :agent.runs (created_at, run_id);
CREATE INDEX runs_by_status ON :agent.runs (status, created_at, run_id);
CREATE TABLE :agent.streams (
  run_id uuid NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  head_seq bigint NOT NULL DEFAULT 0,
  inbox_seq bigint NOT NULL DEFAULT 0,
  status text NOT NULL DEFAULT 'ready' CHECK (status IN ('ready', 'running', 'parked', 'ended')),
  outcome text CHECK (outcome IN ('completed', 'failed', 'cancelled')),
  wait text CHECK (wait IN ('wave', 'timer', 'retry', 'cut', 'claim', 'approval', 'input')),
  absorbed bigint NOT NULL DEFAULT 0,
  wake_at timestamptz,
  lease_owner uuid,
  lease_epoch bigint NOT NULL DEFAULT 0,
  lease_until timestamptz,
  attempts int NOT NULL DEFAULT 0,
  solo_attempts int NOT NULL DEFAULT 0,
  generation int NOT NULL DEFAULT 0,
  problem jsonb,
  role text,
  wave int,
  PRIMARY KEY (run_id, stream_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, autovacuum_analyze_scale_factor = 0.05,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX streams_wake ON :agent.streams (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX streams_parked ON :agent.streams (run_id, stream_id) WHERE status = 'parked';
CREATE TABLE :agent.events (
  run_id uuid NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  type text NOT NULL,
  payload jsonb NOT NULL CHECK (jsonb_typeof(payload) = 'object'),
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (run_id, stream_id, seq)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
CREATE TABLE :agent.inbox (
  run_id uuid NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  key text NOT NULL,
  kind text NOT NULL,
  payload jsonb NOT NULL CHECK (jsonb_typeof(payload) = 'object'),
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (run_id, stream_id, seq),
  UNIQUE (run_id, stream_id, key)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
CREATE TABLE :agent.task_specs (
  run_id uuid NOT NULL,
  task_id text COLLATE "C" NOT NULL,
  role text NOT NULL,
  input jsonb NOT NULL,
  digest text NOT NULL,
  ordinal bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (run_id, task_id)
);
CREATE TABLE :agent.request_headers (
  digest text COLLATE "C" PRIMARY KEY,
  header jsonb NOT NULL CHECK (jsonb_typeof(header) = 'object'),
  first_used_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE :agent.waves (
  run_id uuid NOT NULL,
  wave int NOT NULL,
  on_failure text NOT NULL CHECK (on_failure IN ('fail', 'collect')),
  unsettled int NOT NULL,
  signalled boolean NOT NULL,
  PRIMARY KEY (run_id, wave)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE TABLE :agent.blobs (
  run_id uuid NOT NULL,
  hash text COLLATE "C" NOT NULL,
  bytes int NOT NULL,
  content jsonb NOT NULL,
  PRIMARY KEY (run_id, hash)
);
CREATE TABLE :agent.run_files (
  run_id uuid NOT NULL,
  position int NOT NULL,
  file_id text NOT NULL,
  PRIMARY KEY (run_id, position)
);
