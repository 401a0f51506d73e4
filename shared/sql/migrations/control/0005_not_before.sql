-- Until when whoever waits isn't called: another gate that it needs cools down.
ALTER TABLE toren_control.gate_entries ADD COLUMN not_before timestamptz;
