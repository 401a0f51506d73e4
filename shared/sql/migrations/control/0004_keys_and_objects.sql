-- API keys by their hashes; files whose content lies in an object store. schema/control.sql says what the columns are for.
CREATE TABLE toren_control.api_keys (
  key_hash text PRIMARY KEY,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
ALTER TABLE toren_control.files ALTER COLUMN content DROP NOT NULL;
ALTER TABLE toren_control.files ADD COLUMN object_key text;
ALTER TABLE toren_control.files ADD CONSTRAINT files_content_somewhere CHECK ((content IS NULL) = (object_key IS NOT NULL));
