-- Blobs of several runs. No locks. $1 run uuid[]  $2 hash text[]
SELECT b.run_id, b.hash, b.content FROM unnest($1::uuid[], $2::text[]) AS w(run_id, hash)
JOIN :agent.blobs b ON b.run_id = w.run_id AND b.hash = w.hash
