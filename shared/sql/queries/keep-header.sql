-- What a task's requests begin with, kept before the task says that it uses it. The digest is of the content: a second writing changes nothing.
-- Locks: none but its own new row. $1 digest text  $2 header jsonb
INSERT INTO :agent.request_headers (digest, header) VALUES ($1::text, $2::jsonb) ON CONFLICT DO NOTHING
