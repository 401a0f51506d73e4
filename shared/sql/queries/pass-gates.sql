-- A stream enters gates, all of them or none, or leaves them; and whoever may come in now is called. One statement, because all that is decided here is
-- decided from the same locked rows.
-- Locks: gate rows ORDER BY key (COLLATE "C"), the missing ones inserted in that order; then entries of those gates, which nobody but `renew-places` touches
-- without the gate's row, and that waits for nobody. Old gates are forgotten with SKIP LOCKED.
-- Whoever waited for a gate's row has a snapshot from before: it sees no entry that came meanwhile. So counters in the row say how many are inside and
-- wait; entries that it does see are locked, which shows them as they are now. If more wait than it sees and there is room, it says `again`: the next
-- statement sees them. When nobody moved meanwhile (the row's version is the snapshot's) what is seen is the truth, and mends a counter that isn't.
-- A stream's own entry that came meanwhile is its twin's (a lost acknowledgement): 23505, all is undone, and the statement is sent anew.
-- Turns: of those who wait, by `since`, as many as there are places and tokens for may come; nobody overtakes them. They are called once, and again when
-- they don't come in time; after $13 calls their entry has an end. A cool-down's end or a rate's room is known before: they are called for that time. Who
-- has only just been told to wait may still be on its way to park, and would lose the hint: it is called for a moment later.
-- A gate that counts nobody only cools down. Who finds it cooling waits at one of its other gates, called for the cool-down's end, and keeps its turn there:
-- were it handed on, the whole queue would come one after the other, only to find the same.
-- Not the truth about a run: nobody waits for the disk, so the row's lock is short (synchronous_commit off, in this transaction alone).
-- $1 keys text[]  $2 places int[] (null: no bound)  $3 tokens a minute float8[] (null: no rate)  $4 tokens float8[] (to enter: how many it may use; to
-- leave: how many it did, null: as it said)  $5 agent  $6 run  $7 stream  $8 leaves bool  $9 lease ms  $10 jitter in [0, 1)  $11 sent again bool: those that
-- were called a moment ago are named again  $12 time to come ms  $13 calls at most int  $14 called at once int  $15 look again ms  $16 at most ms  $17 for each
-- ahead ms  $18 for what it waited percent  $19 unheard of ms  $20 spread ms  $21 forget after ms  $22 of the oldest int  $23 to park ms
WITH want AS MATERIALIZED (
  SELECT w.key, coalesce(w.places, 2147483647) AS places, w.per_minute, w.tokens, w.places IS NOT NULL OR w.per_minute IS NOT NULL AS counts
  FROM (SELECT set_config('synchronous_commit', 'off', true)) relaxed, unnest($1::text[], $2::int[], $3::float8[], $4::float8[]) AS w(key, places, per_minute, tokens)
), locked AS MATERIALIZED (
  SELECT g.key, g.places, g.per_minute, g.inside, g.waiting, g.level, g.cool_until, g.moved_at, g.xmin AS version
  FROM want w JOIN toren_control.gates g ON g.key = w.key ORDER BY g.key FOR UPDATE OF g
), clock AS MATERIALIZED (SELECT clock_timestamp() AS now FROM (SELECT count(*) FROM locked) held
), mine AS MATERIALIZED (
  SELECT e.key, e.inside, e.since, e.tokens FROM locked l JOIN toren_control.gate_entries e ON e.key = l.key AND e.run_id = $6::uuid AND e.stream_id = $7::text
  FOR UPDATE OF e
), dead AS (                                       -- leases that ran out; who waited, and died
  DELETE FROM toren_control.gate_entries e USING locked l, clock c
  WHERE e.key = l.key AND e.until <= c.now AND (e.run_id, e.stream_id) IS DISTINCT FROM ($6::uuid, $7::text)
  RETURNING e.key, e.inside
), found AS MATERIALIZED (
  SELECT w.key, w.places, coalesce(w.per_minute, l.per_minute) AS per_minute, w.tokens, w.counts, l.key IS NOT NULL AS known, l.places AS most,
         EXISTS (SELECT FROM toren_control.gates s WHERE s.key = w.key AND s.xmin = l.version) AS fresh,
         m.inside IS TRUE AS within, m.inside IS FALSE AS queued, m.since, coalesce(m.tokens, 0) AS had,
         greatest(0, coalesce(l.inside, 0) - (SELECT count(*) FROM dead d WHERE d.key = w.key AND d.inside))::int AS counted,
         greatest(0, coalesce(l.waiting, 0) - (SELECT count(*) FROM dead d WHERE d.key = w.key AND NOT d.inside) - (m.inside IS FALSE)::int)::int AS waiting,
         coalesce(greatest(0, l.level - extract(epoch FROM c.now - l.moved_at)::float8 / 60 * coalesce(w.per_minute, l.per_minute, 0)), 0) AS level,
         CASE WHEN l.cool_until > c.now THEN l.cool_until END AS cool_until
  FROM clock c CROSS JOIN want w LEFT JOIN locked l ON l.key = w.key LEFT JOIN mine m ON m.key = w.key
), gate AS MATERIALIZED (                          -- `inside` counts this stream too, `waiting` the others alone
  SELECT f.*, i.inside, least($14::int, greatest(0, f.places - i.inside)) AS room,
         least($14::int, greatest(0, greatest(f.places * (NOT $8::bool)::int, coalesce(f.most, 0)) - i.inside + f.within::int)) AS look
  FROM found f CROSS JOIN LATERAL (
    SELECT CASE WHEN f.fresh AND f.queued AND NOT $8::bool AND f.counted >= f.places -- it was called, or waits for long: is there really no room?
      THEN (SELECT count(*)::int FROM toren_control.gate_entries e WHERE e.key = f.key AND e.inside AND e.until > (SELECT now FROM clock))
      ELSE f.counted END AS inside) i
), line AS MATERIALIZED (                          -- the others whose turn it may be
  SELECT g.key, h.agent, h.run_id, h.stream_id, h.since, h.places, h.per_minute, h.tokens, h.call_due, h.calls, h.not_before, h.seen_at
  FROM gate g CROSS JOIN LATERAL (
    SELECT e.* FROM toren_control.gate_entries e
    WHERE e.key = g.key AND NOT e.inside AND e.until > (SELECT now FROM clock) AND (e.run_id, e.stream_id) IS DISTINCT FROM ($6::uuid, $7::text)
    ORDER BY e.since, e.run_id, e.stream_id LIMIT g.look FOR UPDATE) h
), queue AS MATERIALIZED (                         -- who is ahead of this stream; how many wait in all
  SELECT g.key, q.seen, CASE WHEN g.fresh AND q.seen < g.look THEN q.seen ELSE greatest(q.seen, g.waiting) END AS waiting,
         CASE WHEN g.since IS NOT NULL THEN q.older WHEN g.fresh AND q.seen < g.look THEN q.seen ELSE greatest(q.seen, g.waiting) END AS ahead, q.tokens AS ahead_tokens
  FROM gate g CROSS JOIN LATERAL (
    SELECT count(*)::int AS seen, (count(*) FILTER (WHERE l.since < g.since))::int AS older,
           coalesce(sum(l.tokens) FILTER (WHERE g.since IS NULL OR l.since < g.since), 0) AS tokens
    FROM line l WHERE l.key = g.key) q
), judged AS MATERIALIZED (
  SELECT g.*, q.seen, q.waiting AS others, q.ahead, q.ahead_tokens,
         g.within OR (g.cool_until IS NULL AND q.ahead < g.room AND (g.per_minute IS NULL OR g.level + q.ahead_tokens + g.tokens <= g.per_minute OR g.level + q.ahead_tokens <= 0)) AS admits
  FROM gate g JOIN queue q ON q.key = g.key
), verdict AS MATERIALIZED (
  SELECT r.enters, r.open_at, CASE WHEN r.blocked_counts IS FALSE THEN r.came ELSE r.waited END AS since, CASE WHEN r.blocked IS NULL OR r.blocked_counts THEN r.blocked ELSE coalesce(r.home, r.blocked) END AS at
  FROM (SELECT NOT $8::bool AND bool_and(admits) AS enters,
               CASE WHEN NOT $8::bool THEN (array_agg(key ORDER BY counts, cool_until DESC NULLS LAST, key) FILTER (WHERE NOT admits))[1] END AS blocked,
               bool_and(counts) FILTER (WHERE NOT admits) AS blocked_counts,
               (array_agg(key ORDER BY since IS NULL, key) FILTER (WHERE counts))[1] AS home,
               max(cool_until) FILTER (WHERE NOT admits AND NOT counts) AS open_at,
               min(since) FILTER (WHERE queued) AS waited, min(since) AS came
        FROM judged) r
), after AS MATERIALIZED (                         -- each gate as this stream leaves it behind
  SELECT j.*, n.*, coalesce(v.since, c.now) AS began, v.open_at,
         greatest(0, j.inside - j.within::int + n.comes::int) AS inside_now,
         greatest(0, j.level + CASE WHEN n.comes THEN j.tokens - CASE WHEN j.within THEN j.had ELSE 0 END
                                    WHEN $8::bool AND j.within THEN coalesce(j.tokens - j.had, 0) ELSE 0 END) AS level_now
  FROM judged j CROSS JOIN verdict v CROSS JOIN clock c
  CROSS JOIN LATERAL (SELECT v.enters AND j.counts AS comes, coalesce(v.at = j.key, false) AS waits, coalesce(v.at = j.key, false) AND j.counts AS stays) n
), placed AS MATERIALIZED (
  SELECT l.*, a.cool_until, a.level_now, a.inside_now, b.before_me,
         row_number() OVER w + b.before_me AS place, sum(l.tokens) OVER w - l.tokens + b.before_me * coalesce(a.tokens, 0) AS upto
  FROM line l JOIN after a ON a.key = l.key CROSS JOIN LATERAL (SELECT (a.stays AND a.began < l.since)::int AS before_me) b
  WINDOW w AS (PARTITION BY l.key ORDER BY l.since, l.run_id, l.stream_id)
), due AS MATERIALIZED (
  SELECT p.*, greatest(c.now, p.not_before, p.seen_at + $23::float8 * interval '1 ms', p.cool_until + random() * $20::float8 * interval '1 ms',
                       c.now + greatest(0, p.level_now + p.upto + CASE WHEN p.tokens > p.per_minute THEN 0 ELSE p.tokens - p.per_minute END) / p.per_minute * interval '1 min') AS due
  FROM placed p CROSS JOIN clock c
  WHERE p.place <= p.places - p.inside_now AND (p.per_minute IS NULL OR p.upto <= 0 OR p.level_now + p.upto <= p.per_minute)
), called AS (                                     -- once; again when it didn't come, or may come sooner than it was told
  UPDATE toren_control.gate_entries e SET
    call_due = d.due,
    calls = e.calls + n.lapsed::int,
    until = CASE WHEN e.calls + n.lapsed::int + 1 >= $13::int THEN d.due + $12::float8 * interval '1 ms' ELSE greatest(e.until, d.due + $12::float8 * interval '1 ms') END
  FROM due d CROSS JOIN clock c CROSS JOIN LATERAL (SELECT coalesce(d.call_due + $12::float8 * interval '1 ms' <= c.now, false) AS lapsed) n
  WHERE e.key = d.key AND e.run_id = d.run_id AND e.stream_id = d.stream_id
    AND (d.call_due IS NULL OR n.lapsed OR d.due < d.call_due - interval '1 s')
  RETURNING e.key, e.agent, e.run_id, e.stream_id, e.since, e.call_due
), again AS (
  SELECT d.key, d.agent, d.run_id, d.stream_id, d.since, d.call_due FROM due d CROSS JOIN clock c
  WHERE $11::bool AND d.call_due + $12::float8 * interval '1 ms' > c.now AND d.due >= d.call_due - interval '1 s'
), look AS MATERIALIZED (                          -- when this stream, if it has to wait, looks again by itself: at its turn, where that is known
  SELECT a.key, t.turn, t.open_at, CASE WHEN t.turn THEN t.due ELSE greatest(t.open_at, a.cool_until + $10::float8 * $20::float8 * interval '1 ms',
    c.now + least($16::float8, greatest($15::float8, a.ahead * $17::float8, extract(epoch FROM c.now - a.began)::float8 * 10 * $18::float8)) * (0.75 + $10::float8 / 2) * interval '1 ms') END AS at
  FROM after a CROSS JOIN clock c CROSS JOIN LATERAL (
    SELECT a.ahead < least($14::int, a.places - a.inside_now) AND (a.per_minute IS NULL OR a.ahead_tokens <= 0 OR a.level + a.ahead_tokens <= a.per_minute) AS turn,
           a.open_at + $10::float8 * $20::float8 * interval '1 ms' AS open_at,
           greatest(c.now, a.open_at + $10::float8 * $20::float8 * interval '1 ms', a.cool_until + $10::float8 * $20::float8 * interval '1 ms',
                    c.now + greatest(0, a.level + a.ahead_tokens + CASE WHEN a.tokens > a.per_minute THEN 0 ELSE a.tokens - a.per_minute END) / a.per_minute * interval '1 min') AS due) t
  WHERE a.waits
), moved AS (
  UPDATE toren_control.gates g SET
    inside = a.inside_now,
    waiting = a.others + a.stays::int,
    level = a.level_now,
    places = CASE WHEN NOT a.counts THEN g.places WHEN a.inside_now + a.others <= a.comes::int THEN a.places ELSE greatest(g.places, a.places) END,
    per_minute = a.per_minute,
    moved_at = c.now
  FROM after a CROSS JOIN clock c WHERE g.key = a.key
), made AS (
  INSERT INTO toren_control.gates (key, places, per_minute, inside, waiting, level, moved_at)
  SELECT a.key, a.places, a.per_minute, a.comes::int, a.stays::int, a.level_now, c.now FROM after a CROSS JOIN clock c
  WHERE NOT a.known AND (a.comes OR a.stays) ORDER BY a.key
), kept AS (
  UPDATE toren_control.gate_entries e SET
    inside = a.comes, until = CASE WHEN a.comes THEN c.now + $9::float8 * interval '1 ms' ELSE k.at + $19::float8 * interval '1 ms' END,
    since = CASE WHEN a.comes THEN e.since ELSE a.began END, places = a.places, per_minute = a.per_minute, tokens = coalesce(a.tokens, 0),
    call_due = CASE WHEN k.turn THEN k.at END, calls = 0, not_before = k.open_at, seen_at = c.now
  FROM after a CROSS JOIN clock c LEFT JOIN look k ON k.key = a.key
  WHERE (a.comes OR a.stays) AND a.since IS NOT NULL AND e.key = a.key AND e.run_id = $6::uuid AND e.stream_id = $7::text
), gone AS (
  DELETE FROM toren_control.gate_entries e USING after a
  WHERE NOT a.comes AND NOT a.stays AND a.since IS NOT NULL AND e.key = a.key AND e.run_id = $6::uuid AND e.stream_id = $7::text
), come AS (
  INSERT INTO toren_control.gate_entries (key, agent, run_id, stream_id, inside, until, since, places, per_minute, tokens, call_due, not_before, seen_at)
  SELECT a.key, $5::text, $6::uuid, $7::text, a.comes, CASE WHEN a.comes THEN c.now + $9::float8 * interval '1 ms' ELSE k.at + $19::float8 * interval '1 ms' END,
         a.began, a.places, a.per_minute, coalesce(a.tokens, 0), CASE WHEN k.turn THEN k.at END, k.open_at, c.now
  FROM after a CROSS JOIN clock c LEFT JOIN look k ON k.key = a.key
  WHERE (a.comes OR a.stays) AND a.since IS NULL ORDER BY a.key
), forgotten AS (                                  -- with each new gate: old ones that nobody is at any more
  DELETE FROM toren_control.gates g WHERE g.key IN (
    SELECT o.key FROM (SELECT key FROM toren_control.gates ORDER BY created_at LIMIT $22::int) o JOIN toren_control.gates s ON s.key = o.key CROSS JOIN clock c
    WHERE EXISTS (SELECT FROM after a WHERE NOT a.known AND (a.comes OR a.stays)) AND s.moved_at <= c.now - $21::float8 * interval '1 ms' AND s.key <> ALL ($1::text[])
      AND coalesce(s.cool_until <= c.now, true) AND NOT EXISTS (SELECT FROM toren_control.gate_entries e WHERE e.key = s.key AND e.until > c.now)
    FOR UPDATE OF s SKIP LOCKED)
)
SELECT v.enters, v.at AS blocked, floor(extract(epoch FROM k.at) * 1000)::float8 AS retry_at, floor(extract(epoch FROM c.now) * 1000)::float8 AS now,
       EXISTS (SELECT FROM after a WHERE a.seen < a.look AND a.others > a.seen AND a.seen < coalesce(greatest(a.most, a.places * (NOT $8::bool)::int), 0) - a.inside_now) AS again,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('agent', x.agent, 'runId', x.run_id, 'streamId', x.stream_id,
                 'at', CASE WHEN x.call_due <= c.now THEN floor(extract(epoch FROM c.now) * 1000) ELSE ceil(extract(epoch FROM x.call_due) * 1000) END) ORDER BY x.since), '[]')
        FROM (SELECT * FROM called UNION ALL SELECT * FROM again) x) AS called
FROM verdict v CROSS JOIN clock c LEFT JOIN look k ON k.key = v.at
