-- Runs that start by a clock. schema/control.sql says what the columns are for.
CREATE TABLE toren_control.schedules (
  schedule_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name text NOT NULL,
  agent text NOT NULL,
  process text NOT NULL,
  input jsonb NOT NULL,
  cron text NOT NULL,
  zone text NOT NULL,
  catch_up text NOT NULL CHECK (catch_up IN ('none', 'last', 'all')),
  next_at timestamptz,
  problem text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  created_by text NOT NULL
);
CREATE INDEX schedules_due ON toren_control.schedules (next_at) WHERE next_at IS NOT NULL;
CREATE TABLE toren_control.schedule_fires (
  schedule_id uuid NOT NULL REFERENCES toren_control.schedules ON DELETE CASCADE,
  fire_at timestamptz NOT NULL,
  run_id uuid NOT NULL,
  fired_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (schedule_id, fire_at)
);
