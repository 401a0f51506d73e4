-- What a key may do, for how long, and who did what. Keys of before may do everything.
ALTER TABLE toren_control.api_keys
  ADD COLUMN key_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
  ADD COLUMN begins text,
  ADD COLUMN scopes text[] NOT NULL DEFAULT '{admin}',
  ADD COLUMN agents text[],
  ADD COLUMN created_by text,
  ADD COLUMN expires_at timestamptz,
  ADD COLUMN revoked_at timestamptz,
  ADD COLUMN last_used_at timestamptz;
CREATE TABLE toren_control.audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  by_name text NOT NULL,
  key_id uuid,
  action text NOT NULL,
  agent text,
  run_id uuid,
  subject text
);
CREATE INDEX audit_of_run ON toren_control.audit (run_id, id) WHERE run_id IS NOT NULL;
