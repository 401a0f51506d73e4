-- When whoever waits last asked by itself: it isn't called while it may still be on its way to park.
ALTER TABLE toren_control.gate_entries ADD COLUMN seen_at timestamptz NOT NULL DEFAULT clock_timestamp();
