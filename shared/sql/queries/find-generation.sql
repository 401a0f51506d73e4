-- The generation that a worker with this code speaks for: the newest under this hash. No locks. $1 agent  $2 code hash
SELECT max(generation) AS generation FROM toren_control.deployments WHERE agent = $1::text AND code_hash = $2::text
