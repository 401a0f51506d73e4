-- Who watches a run: what its models say goes out only then.
CREATE TABLE toren_control.run_watchers (
  run_id uuid NOT NULL,
  watcher uuid NOT NULL,
  until timestamptz NOT NULL,
  PRIMARY KEY (run_id, watcher)
);
