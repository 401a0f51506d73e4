-- How many hints lie in which queue, at most $2 of each kind: those that could be received now, those that somebody works on, those whose time hasn't
-- come. By the index of what is visible. No locks. $1 queues text[]  $2 at most int
SELECT w.queue, now.count AS waiting, later.hidden, later.delayed
FROM unnest($1::text[]) AS w(queue), LATERAL (
  SELECT count(*)::int AS count FROM (
    SELECT FROM toren_control.queue_messages m WHERE m.queue = w.queue AND m.dead_at IS NULL AND m.visible_at <= statement_timestamp() LIMIT $2::int) f) now, LATERAL (
  SELECT count(f.receipt)::int AS hidden, (count(*) - count(f.receipt))::int AS delayed FROM (
    SELECT m.receipt FROM toren_control.queue_messages m WHERE m.queue = w.queue AND m.dead_at IS NULL AND m.visible_at > statement_timestamp() LIMIT $2::int) f) later
