-- An agent's schema agent_<name> as it is after the last migration; `:agent` stands for its name. Read by people and by a test, which holds it equal
-- to what the migrations make; changes go into a new migration first. README.md is the map.

CREATE TABLE :agent.runs (
  run_id uuid PRIMARY KEY,
  process text NOT NULL,
  mode text NOT NULL DEFAULT 'task' CHECK (mode IN ('task', 'session')),
  input jsonb NOT NULL,
  output jsonb,
  error jsonb,
  generation int NOT NULL,                          -- that started it, with the hash of its code
  code_hash text NOT NULL,
  idempotency_key text,
  request_digest text NOT NULL,                     -- of process, input and files: tells a repeated request from a different one under the same key
  -- The three that make the status (a cache of the streams): how it ended; how many of its streams wait for a person, by kind; what its own stream does.
  -- phase 'created' means that its stream was never acquired.
  ended text CHECK (ended IN ('completed', 'failed', 'cancelled')),
  waiting_cut int NOT NULL DEFAULT 0,               -- no CHECK: after a lock wait Postgres tests it on the old version of the row first
  waiting_approval int NOT NULL DEFAULT 0,
  waiting_input int NOT NULL DEFAULT 0,
  phase text NOT NULL DEFAULT 'created' CHECK (phase IN ('created', 'running', 'waitingRetry', 'waitingTimer', 'waitingSignal')),
  status text NOT NULL GENERATED ALWAYS AS (CASE WHEN ended IS NOT NULL THEN ended WHEN waiting_cut > 0 THEN 'waitingCut'
    WHEN waiting_approval > 0 THEN 'waitingApproval' WHEN waiting_input > 0 THEN 'awaitingInput' ELSE phase END) STORED,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz,
  trace_context text,                               -- W3C traceparent of the run's first span: all others are in its trace; null: nobody traced it
  attributes jsonb,                                 -- labels that its starter gave it, key to text; null: none
  retries int NOT NULL DEFAULT 0,                   -- how often it had failed and somebody had it go on
  forked_from uuid,                                 -- the run whose log its own begins with; that one may be gone
  parent uuid,                                      -- the run whose workflow started it; null: nobody's child
  root uuid,                                        -- the run at the top of a child's tree: it holds the budget of all, and is forgotten with all
  data_key text                                   -- the key that its content is sealed with, wrapped: `k1.<id of the wrapping key>.<run>.<base64>`; null: it is plain
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE UNIQUE INDEX runs_idempotency_key ON :agent.runs (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX runs_newest ON :agent.runs (created_at, run_id);
CREATE INDEX runs_by_status ON :agent.runs (status, created_at, run_id);
CREATE INDEX runs_ended ON :agent.runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX runs_parent ON :agent.runs (parent) WHERE parent IS NOT NULL;
CREATE INDEX runs_root ON :agent.runs (root) WHERE root IS NOT NULL;
CREATE INDEX runs_by_process ON :agent.runs (process, created_at, run_id);

-- What a run is found by: the words of its input, and its attributes as '@key=value' (core/terms.ts makes both). A table of its own: runs rows change
-- with their status, and each change would be one in this index. Without fastupdate, so that no start of a run pays for those before it. Insert-only.
CREATE TABLE :agent.run_terms (
  run_id uuid PRIMARY KEY,
  terms tsvector NOT NULL
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX run_terms_terms ON :agent.run_terms USING gin (terms) WITH (fastupdate = off);

-- One row a stream: its writer, how far its log and its inbox reach, what it waits for. stream_id is COLLATE "C": 'run' < 'task:…' everywhere, so a run's
-- own row is always locked before its tasks' rows. lease_until is not indexed: every append renews it as a heap-only update. wake_at only says when the
-- guardian looks next.
CREATE TABLE :agent.streams (
  run_id uuid NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  head_seq bigint NOT NULL DEFAULT 0,
  inbox_seq bigint NOT NULL DEFAULT 0,
  status text NOT NULL DEFAULT 'ready' CHECK (status IN ('ready', 'running', 'parked', 'ended')),
  outcome text CHECK (outcome IN ('completed', 'failed', 'cancelled')),
  wait text CHECK (wait IN ('wave', 'timer', 'retry', 'cut', 'claim', 'approval', 'input', 'signal', 'child')),  -- set by a park, kept through waking, cleared by the next append
  absorbed bigint NOT NULL DEFAULT 0,               -- facts its writer had seen when it parked: what the audit compares inbox_seq with
  wake_at timestamptz,
  lease_owner uuid,
  lease_epoch bigint NOT NULL DEFAULT 0,
  lease_until timestamptz,
  attempts int NOT NULL DEFAULT 0,
  solo_attempts int NOT NULL DEFAULT 0,
  generation int NOT NULL DEFAULT 0,                -- the highest that wrote it
  problem jsonb,                                    -- why its writer last stepped back without writing
  role text,
  wave int,                                         -- the wave that counts this task NOW: a re-plan moves it; never derived from the id
  hold_tokens bigint NOT NULL DEFAULT 0,            -- reserved in the run's budget for the model call under way
  hold_nano bigint NOT NULL DEFAULT 0,              -- the same in billionths of a US dollar
  model_calls int NOT NULL DEFAULT 0,               -- answers on record, cut ones too: each was paid; so everything below
  tokens_in bigint NOT NULL DEFAULT 0,              -- of them, from the cache too
  tokens_out bigint NOT NULL DEFAULT 0,
  cost_nano bigint NOT NULL DEFAULT 0,              -- billionths of a US dollar, of those with a price
  unpriced int NOT NULL DEFAULT 0,                  -- answers without one
  simulated boolean NOT NULL DEFAULT false,         -- a price in it is made up
  retries int NOT NULL DEFAULT 0,                   -- calls that failed
  cuts int NOT NULL DEFAULT 0,
  replays int NOT NULL DEFAULT 0,                   -- recorded answers that a resumed task used again
  paid_nano bigint NOT NULL DEFAULT 0,              -- what was paid on paid_day, the last one (UTC) that something was paid on
  paid_day date,
  copied_seq bigint NOT NULL DEFAULT 0,             -- of a forked run: events up to here are its source's, and were paid there
  counted bigint[],                                 -- of its counts what `totals` has already, in count-streams' order; null: nothing, not even the run
  count_at timestamptz,                             -- set by whoever takes it: `totals` may lack something of it. By age, so that all have their turn
  sealed_seq bigint NOT NULL DEFAULT 0,             -- of a run that went on anew: events up to here are history; its state is read from what follows
  sealed_facts bigint NOT NULL DEFAULT 0,           -- facts of the inbox that belong to them
  PRIMARY KEY (run_id, stream_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, autovacuum_analyze_scale_factor = 0.05,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX streams_wake ON :agent.streams (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX streams_paid ON :agent.streams (paid_day) WHERE paid_day IS NOT NULL;  -- changes once a day: all other appends stay heap-only
CREATE INDEX streams_count ON :agent.streams (count_at) WHERE count_at IS NOT NULL;  -- moves with acquire and count-streams, never with an append
CREATE INDEX streams_parked ON :agent.streams (run_id, stream_id) WHERE status = 'parked';

-- One row: what streams have counted, over all there ever were, erased ones too. Behind them by a pass of the guardian. It only grows.
CREATE TABLE :agent.totals (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  runs_started bigint NOT NULL DEFAULT 0,           -- runs that a worker has begun
  runs_completed bigint NOT NULL DEFAULT 0,         -- ends: a run that failed, was retried and completed is in both
  runs_failed bigint NOT NULL DEFAULT 0,
  runs_cancelled bigint NOT NULL DEFAULT 0,
  model_calls bigint NOT NULL DEFAULT 0,
  tokens_in bigint NOT NULL DEFAULT 0,
  tokens_out bigint NOT NULL DEFAULT 0,
  cost_nano bigint NOT NULL DEFAULT 0,              -- of streams without a made-up price; the others' is beside it
  simulated_nano bigint NOT NULL DEFAULT 0,
  unpriced bigint NOT NULL DEFAULT 0,
  retries bigint NOT NULL DEFAULT 0,
  cuts bigint NOT NULL DEFAULT 0,
  replays bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- The log (I1). Insert-only.
CREATE TABLE :agent.events (
  run_id uuid NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  type text NOT NULL,
  payload jsonb NOT NULL CHECK (jsonb_typeof(payload) = 'object'),
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (run_id, stream_id, seq)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

-- Facts from outside a stream, in the order of their commits (I3). Insert-only.
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

-- What a task is to do. Insert-only.
CREATE TABLE :agent.task_specs (
  run_id uuid NOT NULL,
  task_id text COLLATE "C" NOT NULL,
  role text NOT NULL,
  input jsonb NOT NULL,
  digest text NOT NULL,
  ordinal bigint NOT NULL GENERATED ALWAYS AS IDENTITY,                -- of creation: claims go by it
  PRIMARY KEY (run_id, task_id)
);

-- What requests begin with: model, system prompt, tools, options, maxTokens, outputSchema. TaskStarted names its digest (specDigest), so header and
-- events together are every request. Insert-only; of code, not of a run: it stays when runs are erased.
CREATE TABLE :agent.request_headers (
  digest text COLLATE "C" PRIMARY KEY,
  header jsonb NOT NULL CHECK (jsonb_typeof(header) = 'object'),
  first_used_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One row a wave: how many of its tasks have not settled, and whether its run was told. Touched only while the run's own stream row is held.
CREATE TABLE :agent.waves (
  run_id uuid NOT NULL,
  wave int NOT NULL,
  on_failure text NOT NULL CHECK (on_failure IN ('fail', 'collect')),
  unsettled int NOT NULL,
  signalled boolean NOT NULL,
  max_parallel int,                                 -- tasks of it that are worked on at once; null: no bound
  reopened int NOT NULL DEFAULT 0,                  -- how often tasks of it went on after a retry: part of its bell's key
  PRIMARY KEY (run_id, wave)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- What a run and its children may use, where a cap is set: one row a tree, the root's. `reserved` is the sum of its streams' holds; spent + reserved never passes a cap by a reservation.
-- Nano: billionths of a US dollar. No CHECK: after a lock wait Postgres tests it on the old version of the row first.
CREATE TABLE :agent.budgets (
  run_id uuid PRIMARY KEY,
  cap_tokens bigint,                                -- null: not capped
  cap_nano bigint,
  reserved_tokens bigint NOT NULL DEFAULT 0,
  reserved_nano bigint NOT NULL DEFAULT 0,
  spent_tokens bigint NOT NULL DEFAULT 0,
  spent_nano bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- The state of a parked session as of an event, so that a turn folds what is new. A cache of the log: it may be emptied at any time.
CREATE TABLE :agent.snapshots (
  run_id uuid NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  version int NOT NULL,                             -- of the fold that made it: others ignore it
  absorbed bigint NOT NULL,                         -- facts that are in it
  state jsonb NOT NULL,
  PRIMARY KEY (run_id, stream_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- Values too large for a row that is read often, by the hash of their JSON text.
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
