-- States of parked sessions, so that a turn costs what is new in it. A cache of the log: it may be emptied at any time.
CREATE TABLE :agent.snapshots (
  run_id uuid NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  version int NOT NULL,
  absorbed bigint NOT NULL,
  state jsonb NOT NULL,
  PRIMARY KEY (run_id, stream_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
