-- The append (I2) for a batch in which something settles, parks, ends, releases, goes on anew or goes on after a wait: up to 128 items of one agent in one round trip.
-- Locks: stream rows ORDER BY (run_id, stream_id) — INCLUDING the run's own row of every task that ends, and of a run that ends every open task, its open
-- children's own rows and its parent's; of one that goes on anew those of the tasks and children that it names — then
-- budgets by run_id, then wave rows by (run_id, wave), only while their run's row is held, then runs rows by run_id. Locking the run's row after the wave deadlocks two workers
-- that each tick one run and settle the last task of the other.
-- One UPDATE of streams, one of waves, one of runs: two in one statement that meet in a row lose one of them without a word. Waves and runs move by an
-- aggregated count, because UPDATE … FROM applies one joined row a target. `locked` holds what is true after the lock wait, the snapshot doesn't.
-- 'again': the task was moved, while this statement waited, to a wave INSERTed after its snapshot: a lock wait shows newer versions of rows, never new
-- rows. Nothing of the item is written; sent anew it has a new snapshot.
-- Events are written whenever head and epoch match; only the park depends on inbox_seq = absorbed, and on no fact posted by this very statement (I10).
-- A stream holds its reservation in its own row, so whoever ends it gives it back, and a call that is sent again replaces it. Where a run has a budget,
-- what an item asks for more must fit beside what is spent and reserved, items before it in this batch included, refused ones too: else 'budget'.
-- A session's end may require, as a park does, that every fact was absorbed: else 'heard'. Nothing of either is written.
-- An owner is required too: after a release, park or end nothing more is written under that epoch (a repeated append without events would be).
-- $1 ord int[]        $2 run uuid[]      $3 stream text[]    $4 head bigint[]   $5 epoch bigint[]  $6 n int[]   $7 next text[] run|park|release|end|continue
-- $8 progress bool[]  $9 keep_attempts bool[] (release)      $10 absorbed bigint[] (park; end of a session; continue), $11 wait text[], $12 wake_at ms float8[] (park)
-- $13 after ms float8[] (release)        $14 outcome text[] completed|failed|cancelled, $15 output jsonb[], $16 error jsonb[] (end; the values for a run only)
-- $17 lease ms int[]  $18 grace ms int   $19 cancel fact jsonb (to open tasks of a run that ends)
-- $20 before int[] (events of the items before it)           $21 type text[]     $22 payloads, a jsonb array      (as append-plain's)
-- $23 hold tokens bigint[], $24 hold nano dollars bigint[] (null: leaves its reservation as it is)   $25 spent tokens bigint[], $26 spent nano bigint[]
-- $29 cancel fact jsonb (to open children of a run that ends)
-- $30 ord int[], $31 run uuid[], $32 stream text[]: what an item that goes on anew stops, by name: a run that goes on for ever has tasks without number
-- $33 cancel fact jsonb (to its tasks)   $34 (to its children)
-- $27 keep bool[]: what it held until now counts as spent
-- $28 what the items add to their streams' counts bigint[], nine an item, as append-one's
-- Returns a row an item: outcome ok|conflict|again|budget|heard, inbox_seq, status ('running' after a refused park), rang: its wave has told the run (one item a bell).
WITH want AS MATERIALIZED (
  SELECT w.ord, w.run_id, w.stream_id COLLATE "C" AS stream_id, w.head, w.epoch, w.n, w.next, w.progress, w.keep_attempts, w.absorbed, w.wait, w.wake_ms,
         w.after_ms, w.outcome, w.output, w.error, w.lease_ms, w.before, w.hold_tokens, w.hold_nano, w.spend_tokens, w.spend_nano, w.keep
  FROM unnest($1::int[], $2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::int[], $7::text[], $8::bool[], $9::bool[], $10::bigint[], $11::text[],
              $12::float8[], $13::float8[], $14::text[], $15::jsonb[], $16::jsonb[], $17::int[], $20::int[], $23::bigint[], $24::bigint[],
              $25::bigint[], $26::bigint[], $27::bool[])
    AS w(ord, run_id, stream_id, head, epoch, n, next, progress, keep_attempts, absorbed, wait, wake_ms, after_ms, outcome, output, error, lease_ms, before,
         hold_tokens, hold_nano, spend_tokens, spend_nano, keep)
), stops AS MATERIALIZED (                         -- tasks of the run itself, and its own children
  SELECT x.ord, x.run_id, x.stream_id COLLATE "C" AS stream_id
  FROM unnest($30::int[], $31::uuid[], $32::text[]) AS x(ord, run_id, stream_id)
  JOIN want w ON w.ord = x.ord LEFT JOIN :agent.runs c ON c.run_id = x.run_id
  WHERE x.run_id = w.run_id OR c.parent = w.run_id
), target AS MATERIALIZED (
  SELECT w.run_id, w.stream_id FROM want w
  UNION SELECT x.run_id, x.stream_id FROM stops x
  UNION SELECT w.run_id, 'run' COLLATE "C" FROM want w WHERE w.next = 'end'
  UNION SELECT s.run_id, s.stream_id FROM want w JOIN :agent.streams s ON s.run_id = w.run_id
        WHERE w.next = 'end' AND w.stream_id = 'run' AND s.status <> 'ended'
  UNION SELECT r.parent, 'run' COLLATE "C" FROM want w JOIN :agent.runs r ON r.run_id = w.run_id
        WHERE w.next = 'end' AND w.stream_id = 'run' AND r.parent IS NOT NULL
  UNION SELECT c.run_id, 'run' COLLATE "C" FROM want w JOIN :agent.runs c ON c.parent = w.run_id
        WHERE w.next = 'end' AND w.stream_id = 'run' AND c.ended IS NULL
), locked AS MATERIALIZED (                        -- every stream row, in one order
  SELECT s.run_id, s.stream_id, s.head_seq, s.inbox_seq, s.lease_epoch, s.lease_owner, s.status, s.wait, s.wave, s.hold_tokens, s.hold_nano
  FROM :agent.streams s JOIN target t ON t.run_id = s.run_id AND t.stream_id = s.stream_id
  ORDER BY s.run_id, s.stream_id FOR UPDATE OF s
), fresh AS MATERIALIZED (                         -- the compare of the compare-and-swap; a task that ends settles the wave of its locked row
  SELECT w.*, CASE WHEN w.next = 'end' AND w.stream_id <> 'run' THEN l.wave END AS wave, l.wait AS old_wait, l.inbox_seq,
         coalesce(w.hold_tokens, CASE WHEN w.next = 'end' THEN 0 END, l.hold_tokens) AS new_tokens, l.hold_tokens AS old_tokens,
         coalesce(w.hold_nano, CASE WHEN w.next = 'end' THEN 0 END, l.hold_nano) AS new_nano, l.hold_nano AS old_nano
  FROM want w JOIN locked l ON l.run_id = w.run_id AND l.stream_id = w.stream_id
  WHERE l.head_seq = w.head AND l.lease_epoch = w.epoch AND l.lease_owner IS NOT NULL
), paying AS MATERIALIZED (                        -- from the budget of the run at the top
  SELECT f.ord, coalesce(r.root, f.run_id) AS run_id, f.hold_tokens, f.new_tokens - f.old_tokens AS tokens, f.new_nano - f.old_nano AS nano,
         coalesce(f.spend_tokens, 0) + CASE WHEN f.keep THEN f.old_tokens ELSE 0 END AS spend_tokens,
         coalesce(f.spend_nano, 0) + CASE WHEN f.keep THEN f.old_nano ELSE 0 END AS spend_nano
  FROM fresh f JOIN :agent.runs r ON r.run_id = f.run_id
  WHERE f.hold_tokens IS NOT NULL OR (f.next = 'end' AND (f.old_tokens > 0 OR f.old_nano > 0))
), purse AS MATERIALIZED (
  SELECT b.run_id, b.cap_tokens, b.cap_nano, b.reserved_tokens, b.reserved_nano, b.spent_tokens, b.spent_nano
  FROM :agent.budgets b JOIN (SELECT DISTINCT run_id FROM paying) p ON p.run_id = b.run_id ORDER BY b.run_id FOR UPDATE OF b
), poor AS MATERIALIZED (                          -- items that ask for more than there is
  SELECT q.ord, q.spent_tokens + q.spend_tokens AS spent_tokens, q.spent_nano + q.spend_nano AS spent_nano
  FROM (SELECT p.ord, p.hold_tokens, p.spend_tokens, p.spend_nano, b.*, sum(greatest(p.tokens + p.spend_tokens, 0)) OVER before AS asked_tokens,
               sum(greatest(p.nano + p.spend_nano, 0)) OVER before AS asked_nano
        FROM paying p JOIN purse b ON b.run_id = p.run_id WINDOW before AS (PARTITION BY p.run_id ORDER BY p.ord)) q
  WHERE q.hold_tokens > 0 AND (q.reserved_tokens + q.spent_tokens + q.asked_tokens > q.cap_tokens OR q.reserved_nano + q.spent_nano + q.asked_nano > q.cap_nano)
), ok AS MATERIALIZED (
  SELECT f.* FROM fresh f
  WHERE (f.wave IS NULL OR EXISTS (SELECT 1 FROM :agent.waves v WHERE v.run_id = f.run_id AND v.wave = f.wave))          -- else 'again'
    AND NOT EXISTS (SELECT 1 FROM poor p WHERE p.ord = f.ord)
    AND (f.next <> 'end' OR f.absorbed IS NULL OR f.absorbed = f.inbox_seq)                                             -- else 'heard'
), paid AS (
  UPDATE :agent.budgets b SET reserved_tokens = b.reserved_tokens + d.tokens, reserved_nano = b.reserved_nano + d.nano,
                              spent_tokens = b.spent_tokens + d.spend_tokens, spent_nano = b.spent_nano + d.spend_nano
  FROM (SELECT p.run_id, sum(p.tokens) AS tokens, sum(p.nano) AS nano, sum(p.spend_tokens) AS spend_tokens, sum(p.spend_nano) AS spend_nano
        FROM paying p JOIN ok o ON o.ord = p.ord GROUP BY p.run_id) d
  WHERE b.run_id = d.run_id
), ripe AS MATERIALIZED (                          -- FOR UPDATE: a plain read would see the snapshot, not the last decrement
  SELECT v.run_id, v.wave, v.reopened, v.signalled, v.unsettled - c.k AS left_over, (c.failed AND v.on_failure = 'fail') AS broke, c.ringer
  FROM :agent.waves v JOIN (SELECT run_id, wave, count(*)::int AS k, bool_or(outcome <> 'completed') AS failed, max(ord) AS ringer FROM ok WHERE wave IS NOT NULL
                            GROUP BY run_id, wave) c ON c.run_id = v.run_id AND c.wave = v.wave
  ORDER BY v.run_id, v.wave FOR UPDATE OF v
), counted AS (
  UPDATE :agent.waves v SET unsettled = r.left_over, signalled = r.signalled OR r.left_over = 0 OR r.broke
  FROM ripe r WHERE v.run_id = r.run_id AND v.wave = r.wave
), closing AS MATERIALIZED (                       -- runs that end here or have ended: nobody is left to hear a bell
  SELECT run_id FROM ok WHERE stream_id = 'run' AND next = 'end'
  UNION SELECT run_id FROM locked WHERE stream_id = 'run' AND status = 'ended'
), bell AS MATERIALIZED (                          -- one fact a wave, once each time that it is open: at zero, or at the first failure under `fail`; one a child that ends
  SELECT b.*, row_number() OVER (PARTITION BY b.run_id ORDER BY b.key) AS i, count(*) OVER (PARTITION BY b.run_id) AS of
  FROM (SELECT r.run_id, r.ringer, 'wave' AS kind, 'wave:' || r.wave || CASE WHEN r.reopened > 0 THEN ':' || r.reopened ELSE '' END AS key,
               jsonb_build_object('kind', 'wave', 'wave', r.wave, 'broke', r.broke) AS payload
        FROM ripe r WHERE NOT signalled AND (left_over = 0 OR broke)
        UNION ALL
        SELECT r.parent, o.ord, 'child', 'child:' || o.run_id || ':' || o.head, jsonb_build_object('kind', 'child', 'run', o.run_id)
        FROM ok o JOIN :agent.runs r ON r.run_id = o.run_id JOIN locked l ON l.run_id = r.parent AND l.stream_id = 'run'
        WHERE o.stream_id = 'run' AND o.next = 'end') b
  WHERE NOT EXISTS (SELECT 1 FROM closing c WHERE c.run_id = b.run_id)
), told AS MATERIALIZED (                          -- a run that ends cancels what is unsettled, its children too
  SELECT l.run_id, l.stream_id, o.head, $19::jsonb AS payload FROM locked l JOIN ok o ON o.run_id = l.run_id AND o.stream_id = 'run' AND o.next = 'end'
  WHERE l.stream_id <> 'run' AND l.status <> 'ended'
    AND NOT EXISTS (SELECT 1 FROM ok e WHERE e.run_id = l.run_id AND e.stream_id = l.stream_id AND e.next = 'end')
  UNION ALL
  SELECT l.run_id, l.stream_id, o.head, $29::jsonb FROM ok o JOIN :agent.runs c ON c.parent = o.run_id JOIN locked l ON l.run_id = c.run_id AND l.stream_id = 'run'
  WHERE o.stream_id = 'run' AND o.next = 'end' AND l.status <> 'ended'
    AND NOT EXISTS (SELECT 1 FROM ok e WHERE e.run_id = l.run_id AND e.stream_id = 'run' AND e.next = 'end')
  UNION ALL                                        -- and so does one that goes on anew, with what it hadn't settled
  SELECT l.run_id, l.stream_id, o.head, CASE WHEN l.stream_id = 'run' THEN $34::jsonb ELSE $33::jsonb END
  FROM stops x JOIN ok o ON o.ord = x.ord AND o.next = 'continue' JOIN locked l ON l.run_id = x.run_id AND l.stream_id = x.stream_id
  WHERE l.status <> 'ended' AND NOT EXISTS (SELECT 1 FROM ok e WHERE e.run_id = l.run_id AND e.stream_id = l.stream_id AND e.next = 'end')
), change AS MATERIALIZED (                        -- what happens to each row, its own append and the facts posted to it together
  SELECT t.run_id, t.stream_id, o.ord, o.n, o.next, o.progress, o.keep_attempts, o.absorbed, o.wait, o.old_wait, o.wake_ms, o.after_ms,
         o.outcome, o.output, o.error, o.lease_ms, o.before, o.new_tokens, o.new_nano, p.posts, coalesce(p.told, 0) AS told,
         coalesce(o.next = 'park' AND o.inbox_seq = o.absorbed AND p.posts IS NULL, false) AS parks
  FROM target t
  LEFT JOIN ok o ON o.run_id = t.run_id AND o.stream_id = t.stream_id
  LEFT JOIN (SELECT q.run_id, q.stream_id, sum(q.posts)::bigint AS posts, sum(q.told)::int AS told FROM (
               SELECT run_id, 'run' COLLATE "C" AS stream_id, max(of) AS posts, 0 AS told FROM bell GROUP BY run_id
               UNION ALL SELECT run_id, stream_id, 1, 1 FROM told) q GROUP BY q.run_id, q.stream_id) p ON p.run_id = t.run_id AND p.stream_id = t.stream_id
  WHERE o.ord IS NOT NULL OR p.posts IS NOT NULL
), moved AS (                                      -- the one UPDATE of streams; k.next is null where a fact is all there is
  UPDATE :agent.streams s SET
    head_seq  = s.head_seq + coalesce(k.n, 0),
    inbox_seq = s.inbox_seq + coalesce(k.posts, 0),
    status = CASE WHEN k.next = 'end' THEN 'ended'
                  WHEN k.next IN ('release', 'continue') THEN 'ready'
                  WHEN k.parks THEN 'parked'
                  WHEN k.next IS NULL AND s.status = 'parked' THEN 'ready'
                  ELSE s.status END,
    outcome = CASE WHEN k.next = 'end' THEN k.outcome ELSE s.outcome END,
    wait = CASE WHEN k.parks THEN k.wait
                WHEN k.next IS NULL OR (k.next = 'release' AND k.n = 0) THEN s.wait   -- given back unwritten: it waits as before
                ELSE NULL END,
    absorbed = CASE WHEN k.parks THEN k.absorbed ELSE s.absorbed END,
    sealed_seq = CASE WHEN k.next = 'continue' THEN s.head_seq + k.n - 1 ELSE s.sealed_seq END,
    sealed_facts = CASE WHEN k.next = 'continue' THEN k.absorbed ELSE s.sealed_facts END,
    lease_owner = CASE WHEN k.parks OR k.next IN ('end', 'release', 'continue') THEN NULL ELSE s.lease_owner END,
    lease_until = CASE WHEN k.parks OR k.next IN ('end', 'release', 'continue') THEN NULL
                       WHEN k.next IS NOT NULL THEN clock_timestamp() + k.lease_ms * interval '1 ms'
                       ELSE s.lease_until END,
    wake_at = CASE WHEN k.next = 'end' THEN NULL
                   WHEN k.next = 'release' THEN clock_timestamp() + k.after_ms * interval '1 ms'
                   WHEN k.parks THEN to_timestamp(k.wake_ms / 1000)
                   WHEN k.next = 'continue' OR (k.next IS NULL AND s.status = 'parked') THEN clock_timestamp() + $18::int * interval '1 ms'
                   ELSE s.wake_at END,
    attempts = CASE WHEN k.progress OR k.parks OR k.next IN ('end', 'continue') OR (k.next = 'release' AND NOT k.keep_attempts) THEN 0 ELSE s.attempts END,
    solo_attempts = CASE WHEN k.progress OR k.parks OR k.next IN ('end', 'continue') OR (k.next = 'release' AND NOT k.keep_attempts) THEN 0 ELSE s.solo_attempts END,
    hold_tokens = coalesce(k.new_tokens, s.hold_tokens),
    hold_nano = coalesce(k.new_nano, s.hold_nano),
    problem = CASE WHEN k.n > 0 OR k.parks THEN NULL ELSE s.problem END,  -- whoever parks has worked on it
    model_calls = s.model_calls + coalesce(($28::bigint[])[k.ord * 9 + 1], 0),
    tokens_in = s.tokens_in + coalesce(($28::bigint[])[k.ord * 9 + 2], 0),
    tokens_out = s.tokens_out + coalesce(($28::bigint[])[k.ord * 9 + 3], 0),
    cost_nano = s.cost_nano + coalesce(($28::bigint[])[k.ord * 9 + 4], 0),
    unpriced = s.unpriced + coalesce(($28::bigint[])[k.ord * 9 + 5], 0),
    simulated = s.simulated OR coalesce(($28::bigint[])[k.ord * 9 + 6], 0) > 0,
    retries = s.retries + coalesce(($28::bigint[])[k.ord * 9 + 7], 0),
    cuts = s.cuts + coalesce(($28::bigint[])[k.ord * 9 + 8], 0),
    replays = s.replays + coalesce(($28::bigint[])[k.ord * 9 + 9], 0),
    paid_nano = CASE WHEN ($28::bigint[])[k.ord * 9 + 4] > 0 AND s.paid_day IS DISTINCT FROM (clock_timestamp() AT TIME ZONE 'UTC')::date THEN 0 ELSE s.paid_nano END + coalesce(($28::bigint[])[k.ord * 9 + 4], 0),
    paid_day = CASE WHEN ($28::bigint[])[k.ord * 9 + 4] > 0 THEN (clock_timestamp() AT TIME ZONE 'UTC')::date ELSE s.paid_day END
  FROM change k
  WHERE s.run_id = k.run_id AND s.stream_id = k.stream_id
  RETURNING k.ord, s.run_id, s.stream_id, s.head_seq - coalesce(k.n, 0) AS head, k.n, k.before, s.inbox_seq, k.told, s.status, k.old_wait, s.wait, k.outcome, k.output, k.error
), written AS (                                    -- an item's slice, never found by the stream: that lets a zombie's event in
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload)
  SELECT m.run_id, m.stream_id, m.head + i, ($21::text[])[m.before + i], $22::jsonb -> (m.before + i - 1)
  FROM moved m, generate_series(1, m.n) AS i
), posted AS (
  INSERT INTO :agent.inbox (run_id, stream_id, seq, key, kind, payload)
  SELECT m.run_id, m.stream_id, m.inbox_seq - m.told - b.of + b.i, b.key, b.kind, b.payload
  FROM bell b JOIN moved m ON m.run_id = b.run_id AND m.stream_id = 'run'
  UNION ALL
  SELECT m.run_id, m.stream_id, m.inbox_seq, 'ended:' || d.head, 'cancel', d.payload
  FROM told d JOIN moved m ON m.run_id = d.run_id AND m.stream_id = d.stream_id
), state AS MATERIALIZED (                         -- how the cached status of each run changes
  SELECT run_id,
         sum((wait IS NOT DISTINCT FROM 'cut')::int - (old_wait IS NOT DISTINCT FROM 'cut')::int)::int AS cut,
         sum((wait IS NOT DISTINCT FROM 'approval')::int - (old_wait IS NOT DISTINCT FROM 'approval')::int)::int AS approval,
         sum((wait IS NOT DISTINCT FROM 'input')::int - (old_wait IS NOT DISTINCT FROM 'input')::int)::int AS input,
         max(CASE wait WHEN 'timer' THEN 'waitingTimer' WHEN 'retry' THEN 'waitingRetry' WHEN 'signal' THEN 'waitingSignal' ELSE 'running' END) FILTER (WHERE stream_id = 'run') AS phase,
         max(CASE old_wait WHEN 'timer' THEN 'waitingTimer' WHEN 'retry' THEN 'waitingRetry' WHEN 'signal' THEN 'waitingSignal' ELSE 'running' END) FILTER (WHERE stream_id = 'run') AS old_phase,
         bool_or(stream_id = 'run' AND status = 'ended') AS over
  FROM moved WHERE ord IS NOT NULL GROUP BY run_id
), rows_last AS MATERIALIZED (
  SELECT r.run_id, c.cut, c.approval, c.input, c.phase, c.over FROM :agent.runs r JOIN state c ON c.run_id = r.run_id
  WHERE c.cut <> 0 OR c.approval <> 0 OR c.input <> 0 OR c.phase IS DISTINCT FROM c.old_phase OR c.over
  ORDER BY r.run_id FOR UPDATE OF r
), stated AS (
  UPDATE :agent.runs r SET
    waiting_cut = r.waiting_cut + c.cut,
    waiting_approval = r.waiting_approval + c.approval,
    waiting_input = r.waiting_input + c.input,
    phase = coalesce(c.phase, r.phase),
    ended = CASE WHEN c.over THEN m.outcome ELSE r.ended END,
    ended_at = CASE WHEN c.over THEN clock_timestamp() ELSE r.ended_at END,
    output = CASE WHEN c.over THEN m.output ELSE r.output END,
    error = CASE WHEN c.over THEN m.error ELSE r.error END
  FROM rows_last c LEFT JOIN moved m ON m.run_id = c.run_id AND m.stream_id = 'run' AND c.over
  WHERE r.run_id = c.run_id
)
SELECT w.ord, coalesce(m.inbox_seq, f.inbox_seq) AS inbox_seq, m.status,
       CASE WHEN m.ord IS NOT NULL THEN 'ok' WHEN f.ord IS NULL THEN 'conflict' WHEN p.ord IS NOT NULL THEN 'budget'
            WHEN f.next = 'end' AND f.absorbed <> f.inbox_seq THEN 'heard' ELSE 'again' END AS outcome,
       EXISTS (SELECT 1 FROM bell b WHERE b.ringer = w.ord) AS rang, p.spent_tokens, p.spent_nano
FROM want w LEFT JOIN moved m ON m.ord = w.ord LEFT JOIN fresh f ON f.ord = w.ord LEFT JOIN poor p ON p.ord = w.ord ORDER BY w.ord
