-- A deployer's generation (I7): the newest's hash again is the same generation, any other the next. The row's lock makes concurrent deployers agree.
-- Locks: the one agents row. $1 agent  $2 code hash. No row: the agent has no schema here.
WITH newest AS (
  UPDATE toren_control.agents SET generation = generation + CASE WHEN code_hash = $2::text THEN 0 ELSE 1 END, code_hash = $2::text
  WHERE agent = $1::text RETURNING generation
), noted AS (
  INSERT INTO toren_control.deployments (agent, generation, code_hash) SELECT $1::text, generation, $2::text FROM newest ON CONFLICT DO NOTHING
)
SELECT generation FROM newest
