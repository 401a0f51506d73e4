-- Values too large for a row, written before the statement that points to them. The hash is of the content: a second writing changes nothing.
-- Locks: none but its own new rows. $1 run uuid[]  $2 hash text[]  $3 bytes int[]  $4 content jsonb[]
INSERT INTO :agent.blobs (run_id, hash, bytes, content) SELECT * FROM unnest($1::uuid[], $2::text[], $3::int[], $4::jsonb[]) ON CONFLICT DO NOTHING
