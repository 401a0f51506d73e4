-- Schema toren_control as it is after the last migration: what belongs to the installation, not to one agent. Read by people and by a test, which
-- holds it equal to what the migrations make; changes go into a new migration first.

-- One row an agent that has a schema of its own. `generation` and `code_hash` are its newest deployment's (I7): a deployer moves them under this row's lock.
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

-- Hints between workers (I9). A message is unclaimed while it has no receipt; the first receive gives it one, each later receive another.
-- dead_at is set instead of a receive once it was received too often: dead letters are read by their own query and deleted when recorded.
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
-- Claims: the oldest visible of a queue, FOR UPDATE SKIP LOCKED.
CREATE INDEX queue_messages_visible ON toren_control.queue_messages (queue, visible_at) WHERE dead_at IS NULL;
CREATE INDEX queue_messages_dead ON toren_control.queue_messages (visible_at) WHERE dead_at IS NOT NULL;
CREATE UNIQUE INDEX queue_messages_receipt ON toren_control.queue_messages (receipt) WHERE receipt IS NOT NULL;
CREATE UNIQUE INDEX queue_messages_dedupe ON toren_control.queue_messages (queue, dedupe_key) WHERE dedupe_key IS NOT NULL AND receipt IS NULL AND dead_at IS NULL;

-- What became of hints that nobody could work on. The stream itself is unharmed: the guardian sends new hints.
CREATE TABLE toren_control.dead_letters (
  message_id text PRIMARY KEY,
  queue text NOT NULL,
  body jsonb NOT NULL,
  receive_count int NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Files that users attach to runs. The id is made from name and content.
CREATE TABLE toren_control.files (
  id text PRIMARY KEY,
  name text NOT NULL,
  media_type text NOT NULL,
  bytes int NOT NULL,
  content bytea,                                    -- null: it lies in the object store
  pages int,                                        -- of a PDF
  page_text text,                                   -- of a PDF, parsed once; pages apart by form feeds
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  object_key text,                                  -- where: on AWS, of large files
  data_key text,                                  -- the key that content and page_text are sealed with, wrapped; null: they are plain
  CONSTRAINT files_content_somewhere CHECK ((content IS NULL) = (object_key IS NOT NULL))
);
CREATE INDEX files_newest ON toren_control.files (created_at, id);

-- Which schema a run lives in, when only its id is known.
CREATE TABLE toren_control.run_index (
  run_id uuid PRIMARY KEY,
  agent text NOT NULL
);

-- How much is done at once, over all workers: a row for each gate (`model:<name>`, `wave:<run>:<n>`, `agent:<name>`) that somebody was counted at, or that
-- cools down. Whoever changes a gate's entries holds its row. `inside` and `waiting` count them, for those who waited for that row and whose snapshot is
-- older; nothing here is the truth about a run. The places that an entry may need are unlimited as 2147483647.
CREATE TABLE toren_control.gates (
  key text COLLATE "C" PRIMARY KEY,
  places int NOT NULL,                              -- the most that anybody who is here asked for: how far a statement looks down the queue
  per_minute float8,                                -- tokens that run out of the bucket in a minute, as said last; null: no rate
  inside int NOT NULL DEFAULT 0,
  waiting int NOT NULL DEFAULT 0,
  level float8 NOT NULL DEFAULT 0,                  -- tokens in the bucket as of moved_at
  cool_until timestamptz,                           -- nobody enters before; whoever is inside goes on
  moved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX gates_cooling ON toren_control.gates (cool_until) WHERE cool_until IS NOT NULL;
CREATE INDEX gates_oldest ON toren_control.gates (created_at);

-- Streams at gates: inside, or waiting in the order of `since`. Past `until` an entry is worth nothing: its holder's lease ran out, or whoever waited died.
CREATE TABLE toren_control.gate_entries (
  key text COLLATE "C" NOT NULL REFERENCES toren_control.gates ON DELETE CASCADE,
  agent text NOT NULL,
  run_id uuid NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  inside boolean NOT NULL,
  until timestamptz NOT NULL,
  since timestamptz NOT NULL,                       -- kept when a stream moves on to the queue of another gate
  places int NOT NULL,                              -- that it asked for; per_minute likewise
  per_minute float8,
  tokens float8 NOT NULL,                           -- that it means to use; in the gate's bucket while it is inside
  call_due timestamptz,                             -- when it was called for; null: it wasn't
  calls int NOT NULL DEFAULT 0,                     -- that it didn't follow so far
  not_before timestamptz,                           -- it isn't called for a time before: another gate that it needs cools down
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(), -- when it last asked by itself: it may still be on its way to park
  PRIMARY KEY (key, run_id, stream_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX gate_entries_ends ON toren_control.gate_entries (key, until);
CREATE INDEX gate_entries_queue ON toren_control.gate_entries (key, since, run_id, stream_id) WHERE NOT inside;
CREATE INDEX gate_entries_places ON toren_control.gate_entries (run_id, stream_id) WHERE inside;

-- One row: the guardian's pulse on AWS. While anything is due soon, each beat's message has the next one sent; a message whose beat isn't the row's is a
-- double. A pulse that is late was lost, and one that rests is at -infinity: whoever looks may start it again.
CREATE TABLE toren_control.pulse (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  beat bigint NOT NULL DEFAULT 0,
  next_at timestamptz NOT NULL DEFAULT '-infinity',
  passed_at timestamptz                             -- the end of the guardian's last pass: for people and alarms
);

-- Who watches a run, until when unless it is said again: pieces of answers go out to them while they are made (NOTIFY). Nothing here is the truth about a run.
CREATE TABLE toren_control.run_watchers (
  run_id uuid NOT NULL,
  watcher uuid NOT NULL,
  until timestamptz NOT NULL,
  PRIMARY KEY (run_id, watcher)
);

-- Who may use the API. A key is 190 random bits, so a plain sha-256 keeps it; the key itself is stored nowhere here.
CREATE TABLE toren_control.api_keys (
  key_hash text PRIMARY KEY,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  key_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
  begins text,                                      -- its first characters, to tell it from others
  scopes text[] NOT NULL DEFAULT '{admin}',         -- read, run, approve, admin
  agents text[],                                    -- null: all there are
  created_by text,                                  -- null: the deployer
  expires_at timestamptz,                           -- null: never
  revoked_at timestamptz,
  last_used_at timestamptz                          -- exact to a minute
);

-- Who did what by the API. Insert-only.
CREATE TABLE toren_control.audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  by_name text NOT NULL,                            -- the key's name, or who decided by its own word
  key_id uuid,                                      -- null: the laptop's dev key, or a schedule
  action text NOT NULL,
  agent text,
  run_id uuid,
  subject text                                      -- a call, a key, a schedule
);
CREATE INDEX audit_of_run ON toren_control.audit (run_id, id) WHERE run_id IS NOT NULL;

-- Runs that start by a clock: who looks and finds next_at passed fires, and moves it on in the same statement.
CREATE TABLE toren_control.schedules (
  schedule_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name text NOT NULL,
  agent text NOT NULL,
  process text NOT NULL,
  input jsonb NOT NULL,
  cron text NOT NULL,                               -- five fields
  zone text NOT NULL,                               -- an IANA name
  catch_up text NOT NULL CHECK (catch_up IN ('none', 'last', 'all')),  -- of times at which nobody was there
  next_at timestamptz,                              -- null: paused
  problem text,                                     -- why it last couldn't fire
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  created_by text NOT NULL
);
CREATE INDEX schedules_due ON toren_control.schedules (next_at) WHERE next_at IS NOT NULL;

-- One row a time that has fired, for a while.
CREATE TABLE toren_control.schedule_fires (
  schedule_id uuid NOT NULL REFERENCES toren_control.schedules ON DELETE CASCADE,
  fire_at timestamptz NOT NULL,                     -- as the expression says, not when somebody came to it
  run_id uuid NOT NULL,
  fired_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (schedule_id, fire_at)
);
