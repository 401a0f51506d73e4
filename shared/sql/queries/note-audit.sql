-- Somebody did something. Locks: its own row.
-- $1 who  $2 key id uuid (or null)  $3 action  $4 agent (or null)  $5 run uuid (or null)  $6 subject (or null)
INSERT INTO toren_control.audit (by_name, key_id, action, agent, run_id, subject) VALUES ($1::text, $2::uuid, $3::text, $4::text, $5::uuid, $6::text)
