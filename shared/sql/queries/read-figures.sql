-- What metrics tell of an agent, in one statement: its totals (one row), the runs that haven't ended by status (by the index on status, at most $2 of
-- each), and for how long the work that waits longest has waited (find-oldest-ready). Nothing here grows with how many runs have
-- ended. The order, and connections without sequential scans, keep to the index: by the statistics each status would be most of the table. No locks.
-- $1 statuses text[]  $2 at most int
SELECT t.runs_started, t.runs_completed, t.runs_failed, t.runs_cancelled, t.model_calls, t.tokens_in, t.tokens_out, t.cost_nano, t.simulated_nano,
       t.unpriced, t.retries, t.cuts, t.replays,
       (SELECT array_agg(c.count ORDER BY w.ord) FROM unnest($1::text[]) WITH ORDINALITY AS w(status, ord), LATERAL (
          SELECT count(*)::int AS count FROM (SELECT FROM :agent.runs r WHERE r.status = w.status ORDER BY r.created_at LIMIT $2::int) found) c) AS live,
       coalesce(greatest(
         (SELECT extract(epoch FROM clock_timestamp() - created_at) FROM :agent.runs WHERE status = 'created' ORDER BY created_at LIMIT 1),
         (SELECT extract(epoch FROM clock_timestamp() - wake_at) FROM :agent.streams WHERE wake_at <= statement_timestamp() ORDER BY wake_at LIMIT 1)), 0)::float8 AS oldest_s
FROM :agent.totals t WHERE t.one
