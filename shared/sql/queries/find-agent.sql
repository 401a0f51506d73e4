-- The agent that a run belongs to. No locks. $1 run uuid
SELECT agent FROM toren_control.run_index WHERE run_id = $1::uuid
