-- For how long the work that waits longest has waited: a run that nobody has taken yet, a stream whose time has come. Null: nothing waits. By indexes.
-- No locks.
SELECT greatest(
  (SELECT extract(epoch FROM clock_timestamp() - created_at) FROM :agent.runs WHERE status = 'created' ORDER BY created_at LIMIT 1),
  (SELECT extract(epoch FROM clock_timestamp() - wake_at) FROM :agent.streams WHERE wake_at <= statement_timestamp() ORDER BY wake_at LIMIT 1)
)::float8 * 1000 AS ms
