// All of the SQL in one module, hence its length. Made by generate.ts from the .sql files, which say why: change those.
export const QUERIES = {
  acquire: `
WITH held AS MATERIALIZED (
  SELECT s.status, s.generation FROM :agent.streams s WHERE s.run_id = $1::uuid AND s.stream_id = $2::text FOR UPDATE
), taken AS (
  UPDATE :agent.streams s SET
    lease_epoch   = s.lease_epoch   + CASE WHEN s.lease_owner = $3::uuid THEN 0 ELSE 1 END,
    attempts      = s.attempts      + CASE WHEN s.lease_owner = $3::uuid THEN 0 ELSE 1 END,
    solo_attempts = s.solo_attempts + CASE WHEN s.lease_owner = $3::uuid OR NOT $6::bool THEN 0 ELSE 1 END,
    lease_owner = $3::uuid, status = 'running', generation = $5::int,
    lease_until = clock_timestamp() + $4::int * interval '1 ms',
    wake_at     = clock_timestamp() + $4::int * interval '1 ms',
    count_at    = coalesce(s.count_at, clock_timestamp())
  FROM held
  WHERE s.run_id = $1::uuid AND s.stream_id = $2::text AND s.status <> 'ended' AND s.generation <= $5::int
    AND (s.lease_owner IS NULL OR s.lease_owner = $3::uuid OR s.lease_until < clock_timestamp())
  RETURNING s.head_seq, s.sealed_seq, s.inbox_seq, s.lease_epoch, s.attempts, s.solo_attempts, s.wait
), begun AS (
  UPDATE :agent.runs r SET phase = 'running' FROM taken t
  WHERE $2::text = 'run' AND r.run_id = $1::uuid AND r.phase = 'created' AND t.lease_epoch = 1
)
SELECT h.status, h.generation, t.head_seq, t.sealed_seq, t.inbox_seq, t.lease_epoch AS epoch, t.attempts, t.solo_attempts, t.wait,
       EXISTS (SELECT FROM toren_control.run_watchers o WHERE o.run_id = $1::uuid AND o.until > clock_timestamp()) AS watched,
       floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
FROM held h LEFT JOIN taken t ON true
`,
  "add-api-key": `
INSERT INTO toren_control.api_keys (key_hash, name) VALUES ($1::text, $2::text) ON CONFLICT DO NOTHING
`,
  "add-file": `
INSERT INTO toren_control.files (id, name, media_type, bytes, content, object_key, pages, page_text, data_key)
VALUES ($1::text, $2::text, $3::text, $4::int, $5::bytea, $6::text, $7::int, $8::text, $9::text) ON CONFLICT (id) DO NOTHING
`,
  "append-full": `
WITH want AS MATERIALIZED (
  SELECT w.ord, w.run_id, w.stream_id COLLATE "C" AS stream_id, w.head, w.epoch, w.n, w.next, w.progress, w.keep_attempts, w.absorbed, w.wait, w.wake_ms,
         w.after_ms, w.outcome, w.output, w.error, w.lease_ms, w.before, w.hold_tokens, w.hold_nano, w.spend_tokens, w.spend_nano, w.keep
  FROM unnest($1::int[], $2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::int[], $7::text[], $8::bool[], $9::bool[], $10::bigint[], $11::text[],
              $12::float8[], $13::float8[], $14::text[], $15::jsonb[], $16::jsonb[], $17::int[], $20::int[], $23::bigint[], $24::bigint[],
              $25::bigint[], $26::bigint[], $27::bool[])
    AS w(ord, run_id, stream_id, head, epoch, n, next, progress, keep_attempts, absorbed, wait, wake_ms, after_ms, outcome, output, error, lease_ms, before,
         hold_tokens, hold_nano, spend_tokens, spend_nano, keep)
), stops AS MATERIALIZED (
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
), locked AS MATERIALIZED (
  SELECT s.run_id, s.stream_id, s.head_seq, s.inbox_seq, s.lease_epoch, s.lease_owner, s.status, s.wait, s.wave, s.hold_tokens, s.hold_nano
  FROM :agent.streams s JOIN target t ON t.run_id = s.run_id AND t.stream_id = s.stream_id
  ORDER BY s.run_id, s.stream_id FOR UPDATE OF s
), fresh AS MATERIALIZED (
  SELECT w.*, CASE WHEN w.next = 'end' AND w.stream_id <> 'run' THEN l.wave END AS wave, l.wait AS old_wait, l.inbox_seq,
         coalesce(w.hold_tokens, CASE WHEN w.next = 'end' THEN 0 END, l.hold_tokens) AS new_tokens, l.hold_tokens AS old_tokens,
         coalesce(w.hold_nano, CASE WHEN w.next = 'end' THEN 0 END, l.hold_nano) AS new_nano, l.hold_nano AS old_nano
  FROM want w JOIN locked l ON l.run_id = w.run_id AND l.stream_id = w.stream_id
  WHERE l.head_seq = w.head AND l.lease_epoch = w.epoch AND l.lease_owner IS NOT NULL
), paying AS MATERIALIZED (
  SELECT f.ord, coalesce(r.root, f.run_id) AS run_id, f.hold_tokens, f.new_tokens - f.old_tokens AS tokens, f.new_nano - f.old_nano AS nano,
         coalesce(f.spend_tokens, 0) + CASE WHEN f.keep THEN f.old_tokens ELSE 0 END AS spend_tokens,
         coalesce(f.spend_nano, 0) + CASE WHEN f.keep THEN f.old_nano ELSE 0 END AS spend_nano
  FROM fresh f JOIN :agent.runs r ON r.run_id = f.run_id
  WHERE f.hold_tokens IS NOT NULL OR (f.next = 'end' AND (f.old_tokens > 0 OR f.old_nano > 0))
), purse AS MATERIALIZED (
  SELECT b.run_id, b.cap_tokens, b.cap_nano, b.reserved_tokens, b.reserved_nano, b.spent_tokens, b.spent_nano
  FROM :agent.budgets b JOIN (SELECT DISTINCT run_id FROM paying) p ON p.run_id = b.run_id ORDER BY b.run_id FOR UPDATE OF b
), poor AS MATERIALIZED (
  SELECT q.ord, q.spent_tokens + q.spend_tokens AS spent_tokens, q.spent_nano + q.spend_nano AS spent_nano
  FROM (SELECT p.ord, p.hold_tokens, p.spend_tokens, p.spend_nano, b.*, sum(greatest(p.tokens + p.spend_tokens, 0)) OVER before AS asked_tokens,
               sum(greatest(p.nano + p.spend_nano, 0)) OVER before AS asked_nano
        FROM paying p JOIN purse b ON b.run_id = p.run_id WINDOW before AS (PARTITION BY p.run_id ORDER BY p.ord)) q
  WHERE q.hold_tokens > 0 AND (q.reserved_tokens + q.spent_tokens + q.asked_tokens > q.cap_tokens OR q.reserved_nano + q.spent_nano + q.asked_nano > q.cap_nano)
), ok AS MATERIALIZED (
  SELECT f.* FROM fresh f
  WHERE (f.wave IS NULL OR EXISTS (SELECT 1 FROM :agent.waves v WHERE v.run_id = f.run_id AND v.wave = f.wave))
    AND NOT EXISTS (SELECT 1 FROM poor p WHERE p.ord = f.ord)
    AND (f.next <> 'end' OR f.absorbed IS NULL OR f.absorbed = f.inbox_seq)
), paid AS (
  UPDATE :agent.budgets b SET reserved_tokens = b.reserved_tokens + d.tokens, reserved_nano = b.reserved_nano + d.nano,
                              spent_tokens = b.spent_tokens + d.spend_tokens, spent_nano = b.spent_nano + d.spend_nano
  FROM (SELECT p.run_id, sum(p.tokens) AS tokens, sum(p.nano) AS nano, sum(p.spend_tokens) AS spend_tokens, sum(p.spend_nano) AS spend_nano
        FROM paying p JOIN ok o ON o.ord = p.ord GROUP BY p.run_id) d
  WHERE b.run_id = d.run_id
), ripe AS MATERIALIZED (
  SELECT v.run_id, v.wave, v.reopened, v.signalled, v.unsettled - c.k AS left_over, (c.failed AND v.on_failure = 'fail') AS broke, c.ringer
  FROM :agent.waves v JOIN (SELECT run_id, wave, count(*)::int AS k, bool_or(outcome <> 'completed') AS failed, max(ord) AS ringer FROM ok WHERE wave IS NOT NULL
                            GROUP BY run_id, wave) c ON c.run_id = v.run_id AND c.wave = v.wave
  ORDER BY v.run_id, v.wave FOR UPDATE OF v
), counted AS (
  UPDATE :agent.waves v SET unsettled = r.left_over, signalled = r.signalled OR r.left_over = 0 OR r.broke
  FROM ripe r WHERE v.run_id = r.run_id AND v.wave = r.wave
), closing AS MATERIALIZED (
  SELECT run_id FROM ok WHERE stream_id = 'run' AND next = 'end'
  UNION SELECT run_id FROM locked WHERE stream_id = 'run' AND status = 'ended'
), bell AS MATERIALIZED (
  SELECT b.*, row_number() OVER (PARTITION BY b.run_id ORDER BY b.key) AS i, count(*) OVER (PARTITION BY b.run_id) AS of
  FROM (SELECT r.run_id, r.ringer, 'wave' AS kind, 'wave:' || r.wave || CASE WHEN r.reopened > 0 THEN ':' || r.reopened ELSE '' END AS key,
               jsonb_build_object('kind', 'wave', 'wave', r.wave, 'broke', r.broke) AS payload
        FROM ripe r WHERE NOT signalled AND (left_over = 0 OR broke)
        UNION ALL
        SELECT r.parent, o.ord, 'child', 'child:' || o.run_id || ':' || o.head, jsonb_build_object('kind', 'child', 'run', o.run_id)
        FROM ok o JOIN :agent.runs r ON r.run_id = o.run_id JOIN locked l ON l.run_id = r.parent AND l.stream_id = 'run'
        WHERE o.stream_id = 'run' AND o.next = 'end') b
  WHERE NOT EXISTS (SELECT 1 FROM closing c WHERE c.run_id = b.run_id)
), told AS MATERIALIZED (
  SELECT l.run_id, l.stream_id, o.head, $19::jsonb AS payload FROM locked l JOIN ok o ON o.run_id = l.run_id AND o.stream_id = 'run' AND o.next = 'end'
  WHERE l.stream_id <> 'run' AND l.status <> 'ended'
    AND NOT EXISTS (SELECT 1 FROM ok e WHERE e.run_id = l.run_id AND e.stream_id = l.stream_id AND e.next = 'end')
  UNION ALL
  SELECT l.run_id, l.stream_id, o.head, $29::jsonb FROM ok o JOIN :agent.runs c ON c.parent = o.run_id JOIN locked l ON l.run_id = c.run_id AND l.stream_id = 'run'
  WHERE o.stream_id = 'run' AND o.next = 'end' AND l.status <> 'ended'
    AND NOT EXISTS (SELECT 1 FROM ok e WHERE e.run_id = l.run_id AND e.stream_id = 'run' AND e.next = 'end')
  UNION ALL
  SELECT l.run_id, l.stream_id, o.head, CASE WHEN l.stream_id = 'run' THEN $34::jsonb ELSE $33::jsonb END
  FROM stops x JOIN ok o ON o.ord = x.ord AND o.next = 'continue' JOIN locked l ON l.run_id = x.run_id AND l.stream_id = x.stream_id
  WHERE l.status <> 'ended' AND NOT EXISTS (SELECT 1 FROM ok e WHERE e.run_id = l.run_id AND e.stream_id = l.stream_id AND e.next = 'end')
), change AS MATERIALIZED (
  SELECT t.run_id, t.stream_id, o.ord, o.n, o.next, o.progress, o.keep_attempts, o.absorbed, o.wait, o.old_wait, o.wake_ms, o.after_ms,
         o.outcome, o.output, o.error, o.lease_ms, o.before, o.new_tokens, o.new_nano, p.posts, coalesce(p.told, 0) AS told,
         coalesce(o.next = 'park' AND o.inbox_seq = o.absorbed AND p.posts IS NULL, false) AS parks
  FROM target t
  LEFT JOIN ok o ON o.run_id = t.run_id AND o.stream_id = t.stream_id
  LEFT JOIN (SELECT q.run_id, q.stream_id, sum(q.posts)::bigint AS posts, sum(q.told)::int AS told FROM (
               SELECT run_id, 'run' COLLATE "C" AS stream_id, max(of) AS posts, 0 AS told FROM bell GROUP BY run_id
               UNION ALL SELECT run_id, stream_id, 1, 1 FROM told) q GROUP BY q.run_id, q.stream_id) p ON p.run_id = t.run_id AND p.stream_id = t.stream_id
  WHERE o.ord IS NOT NULL OR p.posts IS NOT NULL
), moved AS (
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
                WHEN k.next IS NULL OR (k.next = 'release' AND k.n = 0) THEN s.wait
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
    problem = CASE WHEN k.n > 0 OR k.parks THEN NULL ELSE s.problem END,
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
), written AS (
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
), state AS MATERIALIZED (
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
`,
  "append-one": `
WITH moved AS (
  UPDATE :agent.streams s SET
    head_seq = s.head_seq + $5::int,
    lease_until = clock_timestamp() + $7::int * interval '1 ms',
    attempts = CASE WHEN $6::bool THEN 0 ELSE s.attempts END,
    solo_attempts = CASE WHEN $6::bool THEN 0 ELSE s.solo_attempts END,
    problem = NULL,
    model_calls = s.model_calls + coalesce(($10::bigint[])[1], 0),
    tokens_in = s.tokens_in + coalesce(($10::bigint[])[2], 0),
    tokens_out = s.tokens_out + coalesce(($10::bigint[])[3], 0),
    cost_nano = s.cost_nano + coalesce(($10::bigint[])[4], 0),
    unpriced = s.unpriced + coalesce(($10::bigint[])[5], 0),
    simulated = s.simulated OR coalesce(($10::bigint[])[6], 0) > 0,
    retries = s.retries + coalesce(($10::bigint[])[7], 0),
    cuts = s.cuts + coalesce(($10::bigint[])[8], 0),
    replays = s.replays + coalesce(($10::bigint[])[9], 0),
    paid_nano = CASE WHEN ($10::bigint[])[4] > 0 AND s.paid_day IS DISTINCT FROM (clock_timestamp() AT TIME ZONE 'UTC')::date THEN 0 ELSE s.paid_nano END + coalesce(($10::bigint[])[4], 0),
    paid_day = CASE WHEN ($10::bigint[])[4] > 0 THEN (clock_timestamp() AT TIME ZONE 'UTC')::date ELSE s.paid_day END
  WHERE s.run_id = $1::uuid AND s.stream_id = $2::text AND s.head_seq = $3::bigint AND s.lease_epoch = $4::bigint AND s.lease_owner IS NOT NULL
  RETURNING s.inbox_seq
), written AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload)
  SELECT $1::uuid, $2::text, $3::bigint + i, ($8::text[])[i], $9::jsonb -> (i - 1) FROM moved, generate_series(1, $5::int) AS i
)
SELECT inbox_seq FROM moved
`,
  "append-plain": `
WITH want AS MATERIALIZED (
  SELECT * FROM unnest($1::int[], $2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::int[], $7::bool[], $8::int[], $9::int[])
    AS w(ord, run_id, stream_id, head, epoch, n, progress, lease_ms, before)
), locked AS MATERIALIZED (
  SELECT w.* FROM :agent.streams s JOIN want w USING (run_id, stream_id)
  WHERE s.head_seq = w.head AND s.lease_epoch = w.epoch AND s.lease_owner IS NOT NULL
  ORDER BY s.run_id, s.stream_id FOR UPDATE OF s
), moved AS (
  UPDATE :agent.streams s SET
    head_seq = l.head + l.n,
    lease_until = clock_timestamp() + l.lease_ms * interval '1 ms',
    attempts = CASE WHEN l.progress THEN 0 ELSE s.attempts END,
    solo_attempts = CASE WHEN l.progress THEN 0 ELSE s.solo_attempts END,
    problem = NULL,
    model_calls = s.model_calls + coalesce(($12::bigint[])[l.ord * 9 + 1], 0),
    tokens_in = s.tokens_in + coalesce(($12::bigint[])[l.ord * 9 + 2], 0),
    tokens_out = s.tokens_out + coalesce(($12::bigint[])[l.ord * 9 + 3], 0),
    cost_nano = s.cost_nano + coalesce(($12::bigint[])[l.ord * 9 + 4], 0),
    unpriced = s.unpriced + coalesce(($12::bigint[])[l.ord * 9 + 5], 0),
    simulated = s.simulated OR coalesce(($12::bigint[])[l.ord * 9 + 6], 0) > 0,
    retries = s.retries + coalesce(($12::bigint[])[l.ord * 9 + 7], 0),
    cuts = s.cuts + coalesce(($12::bigint[])[l.ord * 9 + 8], 0),
    replays = s.replays + coalesce(($12::bigint[])[l.ord * 9 + 9], 0),
    paid_nano = CASE WHEN ($12::bigint[])[l.ord * 9 + 4] > 0 AND s.paid_day IS DISTINCT FROM (clock_timestamp() AT TIME ZONE 'UTC')::date THEN 0 ELSE s.paid_nano END + coalesce(($12::bigint[])[l.ord * 9 + 4], 0),
    paid_day = CASE WHEN ($12::bigint[])[l.ord * 9 + 4] > 0 THEN (clock_timestamp() AT TIME ZONE 'UTC')::date ELSE s.paid_day END
  FROM locked l
  WHERE s.run_id = l.run_id AND s.stream_id = l.stream_id
  RETURNING l.ord, s.run_id, s.stream_id, l.head, l.n, l.before, s.inbox_seq
), written AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload)
  SELECT m.run_id, m.stream_id, m.head + i, ($10::text[])[m.before + i], $11::jsonb -> (m.before + i - 1)
  FROM moved m, generate_series(1, m.n) AS i
)
SELECT ord, inbox_seq FROM moved
`,
  audit: `
WITH page AS MATERIALIZED (
  SELECT s.run_id, s.stream_id FROM :agent.streams s
  WHERE s.status = 'parked' AND ($1::uuid IS NULL OR (s.run_id, s.stream_id) > ($1::uuid, $2::text))
  ORDER BY s.run_id, s.stream_id LIMIT $3::int FOR UPDATE SKIP LOCKED
), woken AS (
  UPDATE :agent.streams s SET status = 'ready', wake_at = clock_timestamp()
  FROM page p
  WHERE s.run_id = p.run_id AND s.stream_id = p.stream_id AND s.status = 'parked'
    AND (s.inbox_seq > s.absorbed OR s.wait IS NULL OR (s.wake_at IS NULL AND s.wait IN ('timer', 'retry')))
  RETURNING s.run_id, s.stream_id
)
SELECT p.run_id, p.stream_id, w.run_id IS NOT NULL AS fixed
FROM page p LEFT JOIN woken w ON w.run_id = p.run_id AND w.stream_id = p.stream_id
ORDER BY p.run_id, p.stream_id
`,
  "change-schedule": `
UPDATE toren_control.schedules SET name = $2::text, process = $3::text, input = $4::jsonb, cron = $5::text, zone = $6::text, catch_up = $7::text,
       next_at = to_timestamp($8::float8 / 1000), problem = NULL
WHERE schedule_id = $1::uuid RETURNING schedule_id
`,
  "child-outcomes": `
SELECT r.run_id, r.ended, r.output, r.error FROM unnest($2::uuid[]) AS c(id) JOIN :agent.runs r ON r.run_id = c.id AND r.parent = $1::uuid
`,
  "claimable-children": `
SELECT run_id FROM :agent.runs WHERE parent = $1::uuid AND ended IS DISTINCT FROM 'cancelled'
`,
  clock: `
SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
`,
  "cool-down": `
INSERT INTO toren_control.gates AS g (key, places, cool_until)
SELECT $1::text, 2147483647, clock_timestamp() + $2::float8 * interval '1 ms' FROM (SELECT set_config('synchronous_commit', 'off', true)) relaxed
ON CONFLICT (key) DO UPDATE SET cool_until = greatest(g.cool_until, clock_timestamp() + $2::float8 * interval '1 ms')
`,
  "count-runs": `
SELECT w.status, c.count FROM unnest($1::text[]) AS w(status), LATERAL (
  SELECT count(*)::int AS count FROM (SELECT FROM :agent.runs r WHERE r.status = w.status ORDER BY r.created_at LIMIT $2::int) found) c
WHERE c.count > 0
`,
  "count-sealed-files": `
SELECT split_part(k.data_key, '.', 2) AS key_id, count(*)::int AS count, min(k.data_key) AS sample
FROM (SELECT data_key FROM toren_control.files WHERE data_key IS NOT NULL
      UNION ALL SELECT input ->> 'key' FROM toren_control.schedules WHERE jsonb_typeof(input) = 'object' AND input ? $1::text) k
GROUP BY 1 ORDER BY 1
`,
  "count-sealed-runs": `
SELECT split_part(k.data_key, '.', 2) AS key_id, count(*)::int AS count, min(k.data_key) AS sample
FROM (SELECT data_key FROM :agent.runs WHERE data_key IS NOT NULL
      UNION ALL SELECT header ->> 'key' FROM :agent.request_headers WHERE header ? $1::text) k
GROUP BY 1 ORDER BY 1
`,
  "count-streams": `
WITH taken AS MATERIALIZED (
  SELECT * FROM :agent.streams WHERE count_at <= statement_timestamp() - $2::int * interval '1 ms' ORDER BY count_at LIMIT $1::int FOR UPDATE SKIP LOCKED
), lacking AS MATERIALIZED (
  SELECT s.run_id, s.stream_id, s.status, s.stream_id = 'run' AS own, s.outcome, s.simulated, s.counted IS NULL AS fresh,
         ARRAY[s.model_calls - coalesce(s.counted[1], 0), s.tokens_in - coalesce(s.counted[2], 0), s.tokens_out - coalesce(s.counted[3], 0),
               s.cost_nano - coalesce(s.counted[4], 0), s.unpriced - coalesce(s.counted[5], 0), s.retries - coalesce(s.counted[6], 0),
               s.cuts - coalesce(s.counted[7], 0), s.replays - coalesce(s.counted[8], 0)] AS d
  FROM taken s
), noted AS (
  UPDATE :agent.streams s SET
    counted = ARRAY[s.model_calls, s.tokens_in, s.tokens_out, s.cost_nano, s.unpriced, s.retries, s.cuts, s.replays],
    count_at = CASE WHEN l.status = 'running' THEN clock_timestamp() END
  FROM lacking l WHERE s.run_id = l.run_id AND s.stream_id = l.stream_id
), added AS (
  UPDATE :agent.totals t SET
    runs_started = t.runs_started + l.started, runs_completed = t.runs_completed + l.completed, runs_failed = t.runs_failed + l.failed,
    runs_cancelled = t.runs_cancelled + l.cancelled, model_calls = t.model_calls + l.d1, tokens_in = t.tokens_in + l.d2, tokens_out = t.tokens_out + l.d3,
    cost_nano = t.cost_nano + l.d4, simulated_nano = t.simulated_nano + l.made_up, unpriced = t.unpriced + l.d5, retries = t.retries + l.d6,
    cuts = t.cuts + l.d7, replays = t.replays + l.d8
  FROM (SELECT count(*) FILTER (WHERE own AND fresh) AS started, count(*) FILTER (WHERE own AND outcome = 'completed') AS completed,
               count(*) FILTER (WHERE own AND outcome = 'failed') AS failed, count(*) FILTER (WHERE own AND outcome = 'cancelled') AS cancelled,
               sum(d[1]) AS d1, sum(d[2]) AS d2, sum(d[3]) AS d3, coalesce(sum(d[4]) FILTER (WHERE NOT simulated), 0) AS d4,
               coalesce(sum(d[4]) FILTER (WHERE simulated), 0) AS made_up, sum(d[5]) AS d5, sum(d[6]) AS d6, sum(d[7]) AS d7, sum(d[8]) AS d8
        FROM lacking HAVING count(*) > 0) l
  WHERE t.one
)
SELECT count(*)::int AS streams FROM taken
`,
  "create-api-key": `
INSERT INTO toren_control.api_keys (key_hash, name, begins, scopes, agents, expires_at, created_by)
SELECT $1::text, $2::text, $3::text, $4::text[], $5::text[], to_timestamp($6::float8 / 1000), $7::text
WHERE $6::float8 IS NULL OR to_timestamp($6::float8 / 1000) > clock_timestamp()
RETURNING key_id, name, begins, scopes, agents, created_by, floor(extract(epoch FROM created_at) * 1000)::float8 AS created_at,
       floor(extract(epoch FROM expires_at) * 1000)::float8 AS expires_at, floor(extract(epoch FROM revoked_at) * 1000)::float8 AS revoked_at,
       floor(extract(epoch FROM last_used_at) * 1000)::float8 AS last_used_at
`,
  "create-run": `
WITH run AS (
  INSERT INTO :agent.runs (run_id, process, input, generation, code_hash, idempotency_key, request_digest, mode, trace_context, attributes, data_key)
  VALUES ($1::uuid, $2::text, $3::jsonb, $4::int, $5::text, $6::text, $7::text, $12::text, $15::text, $16::jsonb, $20::text)
), terms AS (
  INSERT INTO :agent.run_terms (run_id, terms) VALUES ($1::uuid, array_to_tsvector($17::text[]))
), stream AS (
  INSERT INTO :agent.streams (run_id, stream_id, head_seq, generation, wake_at)
  VALUES ($1::uuid, 'run', 1, $4::int, clock_timestamp() + $11::int * interval '1 ms')
), event AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload) VALUES ($1::uuid, 'run', 1, 'RunCreated', $8::jsonb)
), budget AS (
  INSERT INTO :agent.budgets (run_id, cap_tokens, cap_nano)
  SELECT $1::uuid, $13::bigint, $14::bigint WHERE $13::bigint IS NOT NULL OR $14::bigint IS NOT NULL
), held AS MATERIALIZED (
  SELECT 1 FROM toren_control.files WHERE id = ANY ($9::text[]) FOR KEY SHARE
), files AS (
  INSERT INTO :agent.run_files (run_id, position, file_id)
  SELECT $1::uuid, f.i, f.id FROM unnest($9::text[]) WITH ORDINALITY AS f(id, i) WHERE (SELECT count(*) FROM held) >= 0
), audited AS (
  INSERT INTO toren_control.audit (by_name, key_id, action, agent, run_id)
  SELECT $18::text, $19::uuid, 'run.started', $10::text, $1::uuid WHERE $18::text IS NOT NULL
)
INSERT INTO toren_control.run_index (run_id, agent) VALUES ($1::uuid, $10::text)
`,
  "create-schedule": `
INSERT INTO toren_control.schedules AS s (name, agent, process, input, cron, zone, catch_up, next_at, created_by)
SELECT $1::text, $2::text, $3::text, $4::jsonb, $5::text, $6::text, $7::text, to_timestamp($8::float8 / 1000), $9::text
WHERE (SELECT count(*) FROM toren_control.schedules) < $10::int
RETURNING s.schedule_id, s.name, s.agent, s.process, s.input, s.cron, s.zone, s.catch_up, s.problem, s.created_by,
       floor(extract(epoch FROM s.created_at) * 1000)::float8 AS created_at, (extract(epoch FROM s.next_at) * 1000)::float8 AS next_at, NULL::float8 AS last_at, NULL::uuid AS last_run
`,
  defer: `
UPDATE :agent.streams s SET problem = $3::jsonb, wake_at = clock_timestamp() + $4::float8 * interval '1 ms'
WHERE s.run_id = $1::uuid AND s.stream_id = $2::text AND s.status <> 'ended' AND (s.lease_owner IS NULL OR s.lease_until < clock_timestamp())
`,
  "delete-hints": `
WITH relaxed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS was
), gone AS MATERIALIZED (
  SELECT m.id FROM toren_control.queue_messages m JOIN unnest($1::bigint[], $2::uuid[]) AS r(id, receipt) ON m.id = r.id AND m.receipt = r.receipt
  WHERE (m.dead_at IS NOT NULL) = $3::bool ORDER BY m.id FOR UPDATE OF m
)
DELETE FROM toren_control.queue_messages m USING gone g, relaxed WHERE m.id = g.id AND relaxed.was IS NOT NULL
`,
  "deliver-fact": `
WITH held AS MATERIALIZED (
  SELECT s.status FROM :agent.streams s WHERE s.run_id = $1::uuid AND s.stream_id = $2::text FOR UPDATE
), moved AS (
  UPDATE :agent.streams s SET
    inbox_seq = s.inbox_seq + 1,
    status  = CASE WHEN s.status = 'parked' THEN 'ready' ELSE s.status END,
    wake_at = CASE WHEN s.status = 'parked' THEN clock_timestamp() + $6::int * interval '1 ms' ELSE s.wake_at END
  FROM held h
  WHERE s.run_id = $1::uuid AND s.stream_id = $2::text AND s.status <> 'ended'
    AND NOT EXISTS (SELECT 1 FROM :agent.inbox i WHERE i.run_id = $1::uuid AND i.stream_id = $2::text AND i.key = $3::text)
    AND NOT ($7::bool AND EXISTS (SELECT 1 FROM :agent.runs r WHERE r.run_id = $1::uuid AND r.data_key IS NOT NULL))
  RETURNING s.inbox_seq, h.status = 'parked' AS nudge
), posted AS (
  INSERT INTO :agent.inbox (run_id, stream_id, seq, key, kind, payload)
  SELECT $1::uuid, $2::text, m.inbox_seq, $3::text, $4::text, $5::jsonb FROM moved m
)
SELECT inbox_seq, nudge FROM moved
`,
  "drop-dead-letter": `
DELETE FROM toren_control.dead_letters WHERE message_id = $1::text RETURNING message_id
`,
  "due-schedules": `
SELECT s.schedule_id, s.name, s.agent, s.process, s.input, s.cron, s.zone, s.catch_up, s.problem, s.created_by,
       floor(extract(epoch FROM s.created_at) * 1000)::float8 AS created_at, (extract(epoch FROM s.next_at) * 1000)::float8 AS next_at, NULL::float8 AS last_at, NULL::uuid AS last_run,
       floor(extract(epoch FROM statement_timestamp()) * 1000)::float8 AS now
FROM toren_control.schedules s
WHERE s.next_at <= statement_timestamp() AND s.agent = ANY ($1::text[])
ORDER BY s.next_at LIMIT $2::int
`,
  due: `
WITH due AS MATERIALIZED (
  SELECT run_id, stream_id FROM :agent.streams WHERE wake_at <= statement_timestamp() ORDER BY wake_at LIMIT $1::int FOR UPDATE SKIP LOCKED
)
UPDATE :agent.streams s SET
  wake_at = CASE WHEN s.status = 'running' AND s.lease_until > clock_timestamp() THEN s.lease_until ELSE clock_timestamp() + $2::int * interval '1 ms' END
FROM due d WHERE s.run_id = d.run_id AND s.stream_id = d.stream_id
RETURNING s.run_id, s.stream_id, s.role, s.attempts, s.solo_attempts, NOT (s.status = 'running' AND s.lease_until > clock_timestamp()) AS nudge
`,
  "effects-below": `
WITH RECURSIVE tree AS (
  SELECT x AS run_id FROM unnest($1::uuid[]) AS x UNION ALL SELECT c.run_id FROM tree t JOIN :agent.runs c ON c.parent = t.run_id
)
SELECT DISTINCT e.run_id, CASE e.type WHEN 'StepStarted' THEN 'step ' || (e.payload ->> 'name') ELSE e.payload ->> 'tool' END AS what
FROM tree t JOIN :agent.events e ON e.run_id = t.run_id
WHERE e.type = 'StepStarted' OR (e.type = 'ToolCallStarted' AND e.payload ->> 'effects' = 'external')
ORDER BY 1, 2
`,
  "erase-runs": `
WITH old AS MATERIALIZED (
  SELECT r.run_id, r.ended_at FROM :agent.runs r JOIN :agent.streams s ON s.run_id = r.run_id AND s.stream_id = 'run'
  WHERE s.status = 'ended' AND r.ended_at IS NOT NULL
    AND (r.run_id = ANY ($1::uuid[]) OR ($1::uuid[] IS NULL AND r.ended_at < now() - $2::float8 * interval '1 ms'))
    AND r.parent IS NULL
    AND NOT EXISTS (SELECT 1 FROM :agent.streams t WHERE t.run_id = r.run_id AND t.status <> 'ended')
    AND NOT EXISTS (SELECT 1 FROM :agent.runs c JOIN :agent.streams t ON t.run_id = c.run_id WHERE c.root = r.run_id AND t.status <> 'ended')
  ORDER BY r.ended_at, r.run_id LIMIT $3::int FOR UPDATE OF s SKIP LOCKED
), counted AS (
  SELECT o.run_id, o.ended_at, (SELECT sum(s.head_seq) FROM :agent.streams s WHERE s.run_id = o.run_id)
    + coalesce((SELECT sum(s.head_seq) FROM :agent.runs c JOIN :agent.streams s ON s.run_id = c.run_id WHERE c.root = o.run_id), 0) AS events
  FROM old o
), gone AS MATERIALIZED (
  SELECT c.run_id, c.events FROM (SELECT *, sum(events) OVER (ORDER BY ended_at, run_id) - events AS before FROM counted) c WHERE c.before < $4::bigint
), listed AS MATERIALIZED (
  SELECT g.run_id, g.events, (SELECT array_agg(DISTINCT f.file_id) FROM :agent.run_files f WHERE f.run_id = g.run_id) AS files FROM gone g
), erased AS MATERIALIZED (
  SELECT run_id FROM gone WHERE NOT $5::bool
  UNION ALL SELECT c.run_id FROM gone g JOIN :agent.runs c ON c.root = g.run_id WHERE NOT $5::bool
), events AS (DELETE FROM :agent.events t USING erased e WHERE t.run_id = e.run_id
), inbox AS (DELETE FROM :agent.inbox t USING erased e WHERE t.run_id = e.run_id
), specs AS (DELETE FROM :agent.task_specs t USING erased e WHERE t.run_id = e.run_id
), snapshots AS (DELETE FROM :agent.snapshots t USING erased e WHERE t.run_id = e.run_id
), blobs AS (DELETE FROM :agent.blobs t USING erased e WHERE t.run_id = e.run_id
), files AS (DELETE FROM :agent.run_files t USING erased e WHERE t.run_id = e.run_id
), terms AS (DELETE FROM :agent.run_terms t USING erased e WHERE t.run_id = e.run_id
), streams AS (DELETE FROM :agent.streams t USING erased e WHERE t.run_id = e.run_id
), budgets AS (DELETE FROM :agent.budgets t USING erased e WHERE t.run_id = e.run_id
), waves AS (DELETE FROM :agent.waves t USING erased e WHERE t.run_id = e.run_id
), runs AS (DELETE FROM :agent.runs t USING erased e WHERE t.run_id = e.run_id
), lacking AS MATERIALIZED (
  SELECT s.stream_id = 'run' AS own, s.outcome, s.simulated, s.counted IS NULL AS fresh, ARRAY[s.model_calls - coalesce(s.counted[1], 0),
         s.tokens_in - coalesce(s.counted[2], 0), s.tokens_out - coalesce(s.counted[3], 0), s.cost_nano - coalesce(s.counted[4], 0),
         s.unpriced - coalesce(s.counted[5], 0), s.retries - coalesce(s.counted[6], 0), s.cuts - coalesce(s.counted[7], 0), s.replays - coalesce(s.counted[8], 0)] AS d
  FROM :agent.streams s JOIN erased e ON e.run_id = s.run_id WHERE s.count_at IS NOT NULL ORDER BY s.run_id, s.stream_id FOR UPDATE OF s
), added AS (
  UPDATE :agent.totals t SET
    runs_started = t.runs_started + l.started, runs_completed = t.runs_completed + l.completed, runs_failed = t.runs_failed + l.failed,
    runs_cancelled = t.runs_cancelled + l.cancelled, model_calls = t.model_calls + l.d1, tokens_in = t.tokens_in + l.d2, tokens_out = t.tokens_out + l.d3,
    cost_nano = t.cost_nano + l.d4, simulated_nano = t.simulated_nano + l.made_up, unpriced = t.unpriced + l.d5, retries = t.retries + l.d6,
    cuts = t.cuts + l.d7, replays = t.replays + l.d8
  FROM (SELECT count(*) FILTER (WHERE own AND fresh) AS started, count(*) FILTER (WHERE own AND outcome = 'completed') AS completed,
               count(*) FILTER (WHERE own AND outcome = 'failed') AS failed, count(*) FILTER (WHERE own AND outcome = 'cancelled') AS cancelled,
               sum(d[1]) AS d1, sum(d[2]) AS d2, sum(d[3]) AS d3, coalesce(sum(d[4]) FILTER (WHERE NOT simulated), 0) AS d4,
               coalesce(sum(d[4]) FILTER (WHERE simulated), 0) AS made_up, sum(d[5]) AS d5, sum(d[6]) AS d6, sum(d[7]) AS d7, sum(d[8]) AS d8
        FROM lacking HAVING count(*) > 0) l
  WHERE t.one
), index AS (DELETE FROM toren_control.run_index t USING erased e WHERE t.run_id = e.run_id
)
SELECT run_id, events::float8 AS events, coalesce(files, '{}') AS files FROM listed
`,
  "export-blob": `
SELECT hash, bytes, content FROM :agent.blobs
WHERE run_id = $1::uuid AND CASE WHEN $3::bool THEN hash = $2::text ELSE hash > $2::text END ORDER BY hash LIMIT 1
`,
  "export-run": `
WITH lines AS (
  (SELECT '' AS k, 0::bigint AS n, to_jsonb(r) AS row FROM :agent.runs r WHERE $2::text = 'runs' AND r.run_id = $1::uuid AND $4::bigint < 0)
  UNION ALL
  (SELECT s.stream_id, 0, to_jsonb(s) - ARRAY['counted', 'count_at'] FROM :agent.streams s WHERE $2::text = 'streams' AND s.run_id = $1::uuid AND s.stream_id > $3::text ORDER BY s.stream_id LIMIT $5::int)
  UNION ALL
  (SELECT '', b.wave, to_jsonb(b) FROM :agent.waves b WHERE $2::text = 'waves' AND b.run_id = $1::uuid AND b.wave > $4::bigint ORDER BY b.wave LIMIT $5::int)
  UNION ALL
  (SELECT '', 0, to_jsonb(b) FROM :agent.budgets b WHERE $2::text = 'budgets' AND b.run_id = $1::uuid AND $4::bigint < 0)
  UNION ALL
  (SELECT '', f.position, to_jsonb(f) FROM :agent.run_files f WHERE $2::text = 'run_files' AND f.run_id = $1::uuid AND f.position > $4::bigint
   ORDER BY f.position LIMIT $5::int)
  UNION ALL
  (SELECT t.task_id, 0, to_jsonb(t) FROM :agent.task_specs t WHERE $2::text = 'task_specs' AND t.run_id = $1::uuid AND t.task_id > $3::text ORDER BY t.task_id LIMIT $5::int)
  UNION ALL
  (SELECT i.stream_id, i.seq, to_jsonb(i) FROM :agent.inbox i WHERE $2::text = 'inbox' AND i.run_id = $1::uuid AND (i.stream_id, i.seq) > ($3::text, $4::bigint)
   ORDER BY i.stream_id, i.seq LIMIT $5::int)
  UNION ALL
  (SELECT e.stream_id, e.seq, to_jsonb(e) FROM :agent.events e WHERE $2::text = 'events' AND e.run_id = $1::uuid AND (e.stream_id, e.seq) > ($3::text, $4::bigint)
   ORDER BY e.stream_id, e.seq LIMIT $5::int)
  UNION ALL
  (SELECT t.hash, p, jsonb_build_object('run_id', $1::uuid, 'hash', t.hash, 'bytes', t.bytes, 'part', p,
            'parts', ceil(length(t.content)::float8 / $7::int), 'text', substr(t.content, (p * $7::int + 1)::int, $7::int))
   FROM (SELECT b.hash, b.bytes, b.content::text AS content FROM :agent.blobs b
         WHERE $2::text = 'blobs' AND b.run_id = $1::uuid AND b.hash >= $3::text AND (b.hash > $3::text OR $4::bigint >= 0)
         ORDER BY b.hash LIMIT 4 OFFSET 0) t,
        LATERAL (SELECT CASE WHEN t.hash = $3::text THEN $4::bigint + 1 ELSE 0 END AS first) f,
        LATERAL generate_series(f.first, least((length(t.content) - 1) / $7::int, f.first + $6::int / $7::int)) AS p
   ORDER BY t.hash, p LIMIT $5::int)
  UNION ALL
  (SELECT h.digest, 0, to_jsonb(h) FROM :agent.request_headers h WHERE $2::text = 'request_headers' AND h.digest > $3::text AND h.digest IN
     (SELECT e.payload ->> 'specDigest' FROM :agent.events e WHERE e.run_id = $1::uuid AND e.type = 'TaskStarted') ORDER BY h.digest LIMIT $5::int)
), sized AS (
  SELECT k COLLATE "C" AS k, n, row, sum(octet_length(row::text)) OVER (ORDER BY k COLLATE "C", n) - octet_length(row::text) AS before FROM lines
)
SELECT k, n::float8 AS n, row FROM sized WHERE before < $6::int ORDER BY k, n
`,
  "find-agent": `
SELECT agent FROM toren_control.run_index WHERE run_id = $1::uuid
`,
  "find-any-file-use": `
SELECT f.run_id FROM :agent.run_files f WHERE f.file_id = $1::text LIMIT 1
`,
  "find-api-key": `
WITH used AS (
  UPDATE toren_control.api_keys SET last_used_at = clock_timestamp()
  WHERE key_hash = $1::text AND revoked_at IS NULL AND (last_used_at IS NULL OR last_used_at < clock_timestamp() - interval '1 minute')
)
SELECT key_id, name, begins, scopes, agents, created_by, floor(extract(epoch FROM created_at) * 1000)::float8 AS created_at,
       floor(extract(epoch FROM expires_at) * 1000)::float8 AS expires_at, floor(extract(epoch FROM revoked_at) * 1000)::float8 AS revoked_at,
       floor(extract(epoch FROM last_used_at) * 1000)::float8 AS last_used_at,
       coalesce(expires_at <= clock_timestamp(), false) AS expired
FROM toren_control.api_keys WHERE key_hash = $1::text
`,
  "find-file-use": `
SELECT f.run_id FROM :agent.run_files f JOIN :agent.runs r ON r.run_id = f.run_id WHERE f.file_id = $1::text AND r.ended_at IS NULL LIMIT 1
`,
  "find-generation": `
SELECT max(generation) AS generation FROM toren_control.deployments WHERE agent = $1::text AND code_hash = $2::text
`,
  "find-oldest-ready": `
SELECT greatest(
  (SELECT extract(epoch FROM clock_timestamp() - created_at) FROM :agent.runs WHERE status = 'created' ORDER BY created_at LIMIT 1),
  (SELECT extract(epoch FROM clock_timestamp() - wake_at) FROM :agent.streams WHERE wake_at <= statement_timestamp() ORDER BY wake_at LIMIT 1)
)::float8 * 1000 AS ms
`,
  "find-run": `
SELECT run_id, request_digest FROM :agent.runs WHERE idempotency_key = $2::text OR run_id = $1::uuid
ORDER BY (idempotency_key IS NOT DISTINCT FROM $2::text) DESC LIMIT 1
`,
  "find-soon-schedule": `
SELECT EXISTS (SELECT FROM toren_control.schedules WHERE next_at <= statement_timestamp() + $1::int * interval '1 ms' AND agent = ANY ($2::text[])) AS soon
`,
  "find-soon": `
SELECT EXISTS (SELECT FROM :agent.streams WHERE wake_at <= statement_timestamp() + $1::int * interval '1 ms') AS soon
`,
  "fire-schedule": `
WITH due AS MATERIALIZED (
  SELECT schedule_id FROM toren_control.schedules
  WHERE schedule_id = $1::uuid AND next_at = to_timestamp($2::float8 / 1000) AND next_at <= clock_timestamp() FOR UPDATE SKIP LOCKED
), moved AS (
  UPDATE toren_control.schedules s SET next_at = to_timestamp($4::float8 / 1000), problem = NULL FROM due WHERE s.schedule_id = due.schedule_id
), fired AS (
  INSERT INTO toren_control.schedule_fires (schedule_id, fire_at, run_id) SELECT schedule_id, to_timestamp($3::float8 / 1000), $5::uuid FROM due
), trimmed AS (
  DELETE FROM toren_control.schedule_fires f USING due
  WHERE f.schedule_id = due.schedule_id AND f.fire_at < to_timestamp($3::float8 / 1000) - $21::int * interval '1 day'
), run AS (
  INSERT INTO :agent.runs (run_id, process, input, generation, code_hash, request_digest, mode, trace_context, attributes, data_key)
  SELECT $5::uuid, $6::text, $7::jsonb, $9::int, $10::text, $11::text, $12::text, $15::text, $16::jsonb, $22::text FROM due
), terms AS (
  INSERT INTO :agent.run_terms (run_id, terms) SELECT $5::uuid, array_to_tsvector($17::text[]) FROM due
), stream AS (
  INSERT INTO :agent.streams (run_id, stream_id, head_seq, generation, wake_at)
  SELECT $5::uuid, 'run', 1, $9::int, clock_timestamp() + $18::int * interval '1 ms' FROM due
), event AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload) SELECT $5::uuid, 'run', 1, 'RunCreated', $8::jsonb FROM due
), budget AS (
  INSERT INTO :agent.budgets (run_id, cap_tokens, cap_nano)
  SELECT $5::uuid, $13::bigint, $14::bigint FROM due WHERE $13::bigint IS NOT NULL OR $14::bigint IS NOT NULL
), audited AS (
  INSERT INTO toren_control.audit (by_name, action, agent, run_id) SELECT $20::text, 'run.started', $19::text, $5::uuid FROM due
), indexed AS (
  INSERT INTO toren_control.run_index (run_id, agent) SELECT $5::uuid, $19::text FROM due
)
SELECT schedule_id FROM due
`,
  "fork-run": `
WITH source AS MATERIALIZED (
  SELECT r.process, r.mode, r.input, r.attributes, r.data_key, coalesce(r.root, r.run_id) AS root FROM :agent.runs r WHERE r.run_id = $2::uuid
), run AS (
  INSERT INTO :agent.runs (run_id, process, mode, input, generation, code_hash, idempotency_key, request_digest, attributes, forked_from, data_key)
  SELECT $1::uuid, s.process, s.mode, s.input, $4::int, $5::text, $6::text, $7::text, s.attributes, $2::uuid, s.data_key FROM source s
), terms AS (
  INSERT INTO :agent.run_terms (run_id, terms) SELECT $1::uuid, t.terms FROM :agent.run_terms t WHERE t.run_id = $2::uuid
), part AS MATERIALIZED (
  SELECT p.stream_id COLLATE "C" AS stream_id, p.head, p.wave, p.status, p.outcome,
         (SELECT coalesce(max((e.payload ->> 'inboxSeq')::bigint), 0) FROM :agent.events e
          WHERE e.run_id = $2::uuid AND e.stream_id = p.stream_id COLLATE "C" AND e.seq <= p.head AND e.payload ? 'inboxSeq') AS facts
  FROM source, unnest($9::text[], $10::bigint[], $11::int[], $12::text[], $13::text[]) AS p(stream_id, head, wave, status, outcome)
), streams AS (
  INSERT INTO :agent.streams (run_id, stream_id, head_seq, inbox_seq, status, outcome, role, wave, generation, copied_seq, wake_at, sealed_seq, sealed_facts)
  SELECT $1::uuid, p.stream_id, p.head + CASE WHEN p.stream_id = 'run' THEN cardinality($14::text[]) ELSE 0 END, p.facts, p.status, p.outcome,
         s.role, p.wave, $4::int, p.head, CASE WHEN p.status = 'ready' THEN clock_timestamp() + $8::int * interval '1 ms' END,
         CASE WHEN p.stream_id = 'run' THEN $20::bigint ELSE 0 END,
         CASE WHEN p.stream_id = 'run' THEN coalesce((SELECT (e.payload ->> 'absorbed')::bigint FROM :agent.events e
           WHERE e.run_id = $2::uuid AND e.stream_id = 'run' AND e.seq = $20::bigint + 1 AND e.type = 'RunContinued'), 0) ELSE 0 END
  FROM part p JOIN :agent.streams s ON s.run_id = $2::uuid AND s.stream_id = p.stream_id
), copied AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload, recorded_at)
  SELECT $1::uuid, e.stream_id, e.seq, e.type,
         CASE WHEN e.type IN ('ToolCallStarted', 'StepStarted')
              THEN e.payload || jsonb_build_object('idempotencyKey', encode(sha256(convert_to($1::text || (e.payload ->> 'idempotencyKey'), 'UTF8')), 'hex'))
              ELSE e.payload END, e.recorded_at
  FROM part p JOIN :agent.events e ON e.run_id = $2::uuid AND e.stream_id = p.stream_id AND e.seq <= p.head
), added AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload)
  SELECT $1::uuid, 'run', p.head + a.i, a.type, a.payload
  FROM part p, unnest($14::text[], $15::jsonb[]) WITH ORDINALITY AS a(type, payload, i) WHERE p.stream_id = 'run'
), facts AS (
  INSERT INTO :agent.inbox (run_id, stream_id, seq, key, kind, payload, recorded_at)
  SELECT $1::uuid, i.stream_id, i.seq, i.key, i.kind, i.payload, i.recorded_at
  FROM part p JOIN :agent.inbox i ON i.run_id = $2::uuid AND i.stream_id = p.stream_id AND i.seq <= p.facts
), specs AS (
  INSERT INTO :agent.task_specs (run_id, task_id, role, input, digest)
  SELECT $1::uuid, t.task_id, t.role, t.input, t.digest
  FROM part p JOIN :agent.task_specs t ON t.run_id = $2::uuid AND p.stream_id = 'task:' || t.task_id ORDER BY t.ordinal
), waves AS (
  INSERT INTO :agent.waves (run_id, wave, on_failure, unsettled, signalled, max_parallel, reopened)
  SELECT $1::uuid, w.wave, w.on_failure, w.unsettled, w.unsettled = 0, w.max_parallel, v.reopened + 1
  FROM source, unnest($16::int[], $17::text[], $18::int[], $19::int[]) AS w(wave, on_failure, unsettled, max_parallel)
  JOIN :agent.waves v ON v.run_id = $2::uuid AND v.wave = w.wave
), blobs AS (
  INSERT INTO :agent.blobs (run_id, hash, bytes, content) SELECT $1::uuid, b.hash, b.bytes, b.content FROM :agent.blobs b WHERE b.run_id = $2::uuid
), budget AS (
  INSERT INTO :agent.budgets (run_id, cap_tokens, cap_nano) SELECT $1::uuid, b.cap_tokens, b.cap_nano FROM source s JOIN :agent.budgets b ON b.run_id = s.root
), files AS (
  INSERT INTO :agent.run_files (run_id, position, file_id) SELECT $1::uuid, f.position, f.file_id FROM :agent.run_files f WHERE f.run_id = $2::uuid
), index AS (
  INSERT INTO toren_control.run_index (run_id, agent) SELECT $1::uuid, $3::text FROM source
)
SELECT 1 AS made FROM source
`,
  "hold-file": `
SELECT id FROM toren_control.files WHERE id = $1::text FOR UPDATE
`,
  "keep-header": `
INSERT INTO :agent.request_headers (digest, header) VALUES ($1::text, $2::jsonb) ON CONFLICT DO NOTHING
`,
  "keep-snapshot": `
INSERT INTO :agent.snapshots AS s (run_id, stream_id, seq, version, absorbed, state)
VALUES ($1::uuid, $2::text, $3::bigint, $4::int, $5::bigint, $6::jsonb)
ON CONFLICT (run_id, stream_id) DO UPDATE SET seq = excluded.seq, version = excluded.version, absorbed = excluded.absorbed, state = excluded.state
WHERE s.seq < excluded.seq OR s.version <> excluded.version
`,
  "list-agents": `
SELECT agent FROM toren_control.agents ORDER BY agent
`,
  "list-all-files": `
SELECT id, name, media_type, bytes, pages, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS place,
       floor(extract(epoch FROM created_at) * 1000)::float8 AS created_at
FROM toren_control.files f
WHERE ($1::text IS NULL OR (f.created_at, f.id) < ($1::text::timestamptz, $2::text))
ORDER BY f.created_at DESC, f.id DESC LIMIT $3::int
`,
  "list-api-keys": `
SELECT key_id, name, begins, scopes, agents, created_by, floor(extract(epoch FROM created_at) * 1000)::float8 AS created_at,
       floor(extract(epoch FROM expires_at) * 1000)::float8 AS expires_at, floor(extract(epoch FROM revoked_at) * 1000)::float8 AS revoked_at,
       floor(extract(epoch FROM last_used_at) * 1000)::float8 AS last_used_at
FROM toren_control.api_keys k ORDER BY k.created_at DESC, k.key_id
`,
  "list-approvals": `
SELECT substr(e.stream_id, 6) AS task_id, e.payload, floor(extract(epoch FROM e.recorded_at) * 1000)::float8 AS requested_at,
       i.payload AS decision, floor(extract(epoch FROM i.recorded_at) * 1000)::float8 AS decided_at
FROM :agent.events e
JOIN :agent.streams s ON s.run_id = e.run_id AND s.stream_id = e.stream_id
LEFT JOIN :agent.inbox i ON i.run_id = e.run_id AND i.stream_id = e.stream_id AND i.key = 'decision:' || (e.payload ->> 'key')
WHERE e.run_id = $1::uuid AND e.type = 'ApprovalRequested' AND (s.status <> 'ended' OR i.payload IS NOT NULL)
  AND NOT EXISTS (SELECT FROM :agent.events c WHERE c.run_id = e.run_id AND c.stream_id = e.stream_id AND c.type = 'StreamInvalidated'
                  AND c.seq > e.seq AND (c.payload ->> 'fromSeq')::bigint <= e.seq)
ORDER BY e.recorded_at, e.stream_id, e.seq
`,
  "list-audit": `
SELECT id, floor(extract(epoch FROM at) * 1000)::float8 AS at, by_name, key_id, action, agent, run_id, subject
FROM toren_control.audit
WHERE ($1::uuid IS NULL OR run_id = $1::uuid) AND ($2::bigint IS NULL OR id < $2::bigint)
ORDER BY id DESC LIMIT $3::int
`,
  "list-below": `
WITH RECURSIVE tree AS (
  SELECT c.run_id, c.created_at FROM :agent.runs c WHERE c.parent = $1::uuid
  UNION ALL SELECT c.run_id, c.created_at FROM tree t JOIN :agent.runs c ON c.parent = t.run_id
)
SELECT run_id FROM tree ORDER BY created_at, run_id
`,
  "list-call-events": `
SELECT stream_id, seq, type, payload - 'response' - 'result' - 'args' - 'text' AS payload, floor(extract(epoch FROM recorded_at) * 1000)::float8 AS recorded_at
FROM :agent.events
WHERE run_id = $1::uuid AND (stream_id, seq) > ($2::text, $3::bigint)
  AND type IN ('TaskStarted', 'LlmCallStarted', 'LlmCallCompleted', 'LlmCallFailed', 'ToolCallStarted', 'ToolCallCompleted', 'StreamInvalidated', 'CutRequested', 'InputRequested',
               'TaskCompleted', 'TaskFailed', 'TaskCancelled')
ORDER BY stream_id, seq LIMIT $4::int
`,
  "list-children": `
WITH page AS MATERIALIZED (
  SELECT r.run_id, r.process, r.status, r.created_at, r.ended_at, count(*) OVER ()::int AS count
  FROM :agent.runs r WHERE r.parent = $1::uuid ORDER BY r.created_at, r.run_id LIMIT $2::int
)
SELECT p.run_id, p.process, p.status, p.count, floor(extract(epoch FROM p.created_at) * 1000)::float8 AS created_at,
       floor(extract(epoch FROM p.ended_at) * 1000)::float8 AS ended_at, s.*
FROM page p, LATERAL (
  SELECT coalesce(sum(s.model_calls), 0)::int AS calls, coalesce(sum(s.tokens_in + s.tokens_out), 0)::float8 AS tokens, coalesce(sum(s.cost_nano), 0)::float8 AS nano,
         coalesce(sum(s.unpriced), 0)::int AS unpriced, coalesce(bool_or(s.simulated), false) AS simulated
  FROM :agent.streams s WHERE s.run_id = p.run_id
) s ORDER BY p.created_at, p.run_id
`,
  "list-cool-downs": `
SELECT g.key, floor(extract(epoch FROM g.cool_until) * 1000)::float8 AS until, floor(extract(epoch FROM c.now) * 1000)::float8 AS now
FROM (SELECT clock_timestamp() AS now) c LEFT JOIN toren_control.gates g ON g.cool_until > c.now
`,
  "list-dead-letters": `
SELECT message_id, queue, body, receive_count, to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS place,
       floor(extract(epoch FROM recorded_at) * 1000)::float8 AS recorded_at
FROM toren_control.dead_letters d
WHERE ($1::text IS NULL OR (d.recorded_at, d.message_id) < ($1::text::timestamptz, $2::text)) AND ($4::text IS NULL OR d.message_id = $4::text)
ORDER BY d.recorded_at DESC, d.message_id DESC LIMIT $3::int
`,
  "list-digests": `
SELECT t.task_id, t.digest FROM :agent.task_specs t
WHERE t.run_id = $1::uuid
  AND NOT EXISTS (SELECT 1 FROM :agent.inbox i WHERE i.run_id = t.run_id AND i.stream_id = 'task:' || t.task_id AND i.kind = 'cancel'
    AND i.seq > coalesce((SELECT max((e.payload #>> '{retry,upTo}')::bigint) FROM :agent.events e WHERE e.run_id = i.run_id AND e.stream_id = i.stream_id
      AND e.type = 'StreamInvalidated'), 0))
ORDER BY t.ordinal
`,
  "list-external-calls": `
SELECT DISTINCT t.id AS task_id, e.payload ->> 'tool' AS tool
FROM unnest($2::text[], $3::bigint[], $4::bool[]) AS t(id, after, open)
JOIN :agent.events e ON e.run_id = $1::uuid AND e.stream_id = 'task:' || t.id AND e.seq > t.after
WHERE e.type = 'ToolCallStarted' AND e.payload ->> 'effects' = 'external'
  AND NOT (t.open AND EXISTS (SELECT 1 FROM :agent.events d WHERE d.run_id = e.run_id AND d.stream_id = e.stream_id AND d.seq > e.seq
    AND d.type = 'ToolCallCompleted' AND d.payload ->> 'toolUseId' = e.payload ->> 'toolUseId'))
ORDER BY 1, 2
`,
  "list-files": `
SELECT f.id, f.name, f.media_type, f.bytes, f.pages FROM unnest($1::text[]) WITH ORDINALITY AS w(id, ord) JOIN toren_control.files f ON f.id = w.id ORDER BY w.ord
`,
  "list-generations": `
SELECT agent, generation FROM toren_control.agents ORDER BY agent
`,
  "list-newest-by-terms": `
SELECT n.run_id, (extract(epoch FROM n.created_at) * 1000000)::float8 AS place
FROM (
  SELECT r.run_id, r.created_at, r.status FROM :agent.runs r
  WHERE ($1::text IS NULL OR r.process = $1::text)
    AND ($2::float8 IS NULL OR r.created_at >= to_timestamp($2::float8 / 1000)) AND ($3::float8 IS NULL OR r.created_at < to_timestamp($3::float8 / 1000))
    AND ($4::float8 IS NULL OR (r.created_at, r.run_id) < (timestamptz 'epoch' + $4::float8 * interval '1 microsecond', $5::uuid))
  ORDER BY r.created_at DESC, r.run_id DESC LIMIT $9::int) n,
  LATERAL (SELECT t.terms FROM :agent.run_terms t WHERE t.run_id = n.run_id OFFSET 0) t
WHERE t.terms @@ $8::text::tsquery AND ($7::text[] IS NULL OR n.status = ANY ($7::text[]))
ORDER BY n.created_at DESC, n.run_id DESC LIMIT $6::int
`,
  "list-open-tasks": `
SELECT substr(stream_id, 6) AS task_id, wait FROM :agent.streams
WHERE run_id = $1::uuid AND stream_id > 'run' AND status <> 'ended' ORDER BY stream_id
`,
  "list-run-files": `
SELECT file_id FROM :agent.run_files WHERE run_id = $1::uuid ORDER BY position
`,
  "list-runs-by-id": `
SELECT r.run_id, (extract(epoch FROM r.created_at) * 1000000)::float8 AS place
FROM :agent.runs r
WHERE r.run_id BETWEEN $8::uuid AND $9::uuid AND ($7::text[] IS NULL OR r.status = ANY ($7::text[])) AND ($1::text IS NULL OR r.process = $1::text)
  AND ($2::float8 IS NULL OR r.created_at >= to_timestamp($2::float8 / 1000)) AND ($3::float8 IS NULL OR r.created_at < to_timestamp($3::float8 / 1000))
  AND ($4::float8 IS NULL OR (r.created_at, r.run_id) < (timestamptz 'epoch' + $4::float8 * interval '1 microsecond', $5::uuid))
  AND ($10::text IS NULL OR EXISTS (SELECT FROM :agent.run_terms t WHERE t.run_id = r.run_id AND t.terms @@ $10::text::tsquery))
ORDER BY r.created_at DESC, r.run_id DESC LIMIT $6::int
`,
  "list-runs-by-status": `
SELECT p.run_id, p.place FROM unnest($7::text[]) AS want(status), LATERAL (
  SELECT r.run_id, (extract(epoch FROM r.created_at) * 1000000)::float8 AS place
  FROM :agent.runs r
  WHERE r.status = want.status AND ($1::text IS NULL OR r.process = $1::text)
    AND ($2::float8 IS NULL OR r.created_at >= to_timestamp($2::float8 / 1000)) AND ($3::float8 IS NULL OR r.created_at < to_timestamp($3::float8 / 1000))
    AND ($4::float8 IS NULL OR (r.created_at, r.run_id) < (timestamptz 'epoch' + $4::float8 * interval '1 microsecond', $5::uuid))
  ORDER BY r.created_at DESC, r.run_id DESC LIMIT $6::int) p
ORDER BY p.place DESC, p.run_id DESC LIMIT $6::int
`,
  "list-runs-by-terms": `
SELECT r.run_id, (extract(epoch FROM r.created_at) * 1000000)::float8 AS place
FROM (SELECT t.run_id FROM :agent.run_terms t WHERE t.terms @@ $8::text::tsquery OFFSET 0) t,
  LATERAL (SELECT r.run_id, r.created_at, r.status, r.process FROM :agent.runs r WHERE r.run_id = t.run_id OFFSET 0) r
WHERE ($7::text[] IS NULL OR r.status = ANY ($7::text[])) AND ($1::text IS NULL OR r.process = $1::text)
  AND ($2::float8 IS NULL OR r.created_at >= to_timestamp($2::float8 / 1000)) AND ($3::float8 IS NULL OR r.created_at < to_timestamp($3::float8 / 1000))
  AND ($4::float8 IS NULL OR (r.created_at, r.run_id) < (timestamptz 'epoch' + $4::float8 * interval '1 microsecond', $5::uuid))
ORDER BY r.created_at DESC, r.run_id DESC LIMIT $6::int
`,
  "list-runs": `
SELECT r.run_id, (extract(epoch FROM r.created_at) * 1000000)::float8 AS place
FROM :agent.runs r
WHERE ($1::text IS NULL OR r.process = $1::text)
  AND ($2::float8 IS NULL OR r.created_at >= to_timestamp($2::float8 / 1000)) AND ($3::float8 IS NULL OR r.created_at < to_timestamp($3::float8 / 1000))
  AND ($4::float8 IS NULL OR (r.created_at, r.run_id) < (timestamptz 'epoch' + $4::float8 * interval '1 microsecond', $5::uuid))
ORDER BY r.created_at DESC, r.run_id DESC LIMIT $6::int
`,
  "list-schedules": `
SELECT s.schedule_id, s.name, s.agent, s.process, s.input, s.cron, s.zone, s.catch_up, s.problem, s.created_by,
       floor(extract(epoch FROM s.created_at) * 1000)::float8 AS created_at, (extract(epoch FROM s.next_at) * 1000)::float8 AS next_at, (extract(epoch FROM f.fire_at) * 1000)::float8 AS last_at, f.run_id AS last_run
FROM toren_control.schedules s
LEFT JOIN LATERAL (SELECT fire_at, run_id FROM toren_control.schedule_fires f WHERE f.schedule_id = s.schedule_id ORDER BY fire_at DESC LIMIT 1) f ON true
WHERE $1::uuid IS NULL OR s.schedule_id = $1::uuid
ORDER BY s.name, s.schedule_id
`,
  "list-streams": `
SELECT stream_id, status, outcome, wait, floor(extract(epoch FROM wake_at) * 1000)::float8 AS wake_at, attempts, role, wave, head_seq, sealed_seq, copied_seq, problem
FROM :agent.streams WHERE run_id = $1::uuid ORDER BY stream_id
`,
  "list-stuck": `
WITH live AS MATERIALIZED (
  SELECT run_id, process, created_at FROM :agent.runs WHERE status IN ('created', 'running', 'waitingApproval', 'waitingCut')
  ORDER BY created_at, run_id LIMIT $1::int
), found AS (
  SELECT l.run_id, l.process, s.stream_id, s.role, s.attempts, s.problem,
         CASE WHEN s.attempts >= $2::int THEN 'crashing' WHEN s.problem IS NOT NULL THEN 'steppedBack' WHEN s.status = 'ready' THEN 'unclaimed' ELSE 'silent' END AS why,
         s.lease_until, greatest(l.created_at, e.recorded_at, i.recorded_at) AS since
  FROM live l
  JOIN LATERAL (SELECT * FROM :agent.streams t WHERE t.run_id = l.run_id AND t.status IN ('ready', 'running') OFFSET 0) s ON true
  LEFT JOIN :agent.events e ON e.run_id = s.run_id AND e.stream_id = s.stream_id AND e.seq = s.head_seq
  LEFT JOIN :agent.inbox i ON i.run_id = s.run_id AND i.stream_id = s.stream_id AND i.seq = s.inbox_seq
)
SELECT run_id, process, stream_id, role, attempts, problem, why, floor(extract(epoch FROM since) * 1000)::float8 AS since
FROM found
WHERE why IN ('crashing', 'steppedBack')
   OR why = 'unclaimed' AND since < clock_timestamp() - $3::int * interval '1 ms'
   OR why = 'silent' AND lease_until < clock_timestamp() - $3::int * interval '1 ms'
ORDER BY since, run_id, stream_id LIMIT $4::int
`,
  "list-turns": `
WITH said AS MATERIALIZED (
  SELECT e.seq FROM :agent.events e
  WHERE e.run_id = $1::uuid AND e.stream_id = 'task:w0t0' AND CASE e.type
    WHEN 'InputRequested' THEN true
    WHEN 'UserMessage' THEN btrim(e.payload ->> 'text', E' \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff') <> ''
    WHEN 'TaskCompleted' THEN 'LlmCallCompleted' = (
      SELECT b.type FROM :agent.events b WHERE b.run_id = e.run_id AND b.stream_id = e.stream_id AND b.seq < e.seq
        AND b.type IN ('InputRequested', 'LlmCallCompleted') ORDER BY b.seq DESC LIMIT 1)
    ELSE false END
)
SELECT c.count::int, t.*
FROM (SELECT count(*) FROM said) c LEFT JOIN LATERAL (
  SELECT e.seq::float8 AS seq, CASE WHEN e.type = 'UserMessage' THEN 'user' ELSE 'agent' END AS by, e.payload,
         floor(extract(epoch FROM e.recorded_at) * 1000)::float8 AS at
  FROM said JOIN :agent.events e ON e.run_id = $1::uuid AND e.stream_id = 'task:w0t0' AND e.seq = said.seq
  WHERE $2::bigint IS NULL OR e.seq < $2::bigint ORDER BY e.seq DESC LIMIT $3::int
) t ON true
ORDER BY t.seq DESC
`,
  "list-unrepeatable": `
SELECT DISTINCT substr(b.stream_id, 6) AS task_id, b.payload ->> 'tool' AS tool
FROM :agent.events b JOIN :agent.events d ON d.run_id = b.run_id AND d.stream_id = b.stream_id AND d.seq > b.seq AND d.type = 'ToolCallCompleted'
  AND d.payload ->> 'stepId' = b.payload ->> 'stepId' AND d.payload ->> 'toolUseId' = b.payload ->> 'toolUseId'
WHERE b.run_id = $1::uuid AND b.stream_id = ANY (SELECT 'task:' || x FROM unnest($2::text[]) x)
  AND b.type = 'ToolCallStarted' AND b.payload ->> 'effects' = 'external' AND b.payload ->> 'idempotency' = 'none'
ORDER BY 1, 2
`,
  "list-waiting": `
WITH waiting AS MATERIALIZED (
  SELECT run_id, process, status, created_at FROM :agent.runs WHERE status IN ('waitingApproval', 'waitingCut') ORDER BY created_at, run_id LIMIT $1::int
)
SELECT w.run_id, w.process, w.status, floor(extract(epoch FROM w.created_at) * 1000)::float8 AS created_at,
       e.stream_id, e.seq, e.type, e.payload, floor(extract(epoch FROM e.recorded_at) * 1000)::float8 AS recorded_at
FROM waiting w
JOIN :agent.streams s ON s.run_id = w.run_id AND s.wait IN ('approval', 'cut') AND s.status <> 'ended'
JOIN LATERAL (
  SELECT * FROM :agent.events e
  WHERE e.run_id = s.run_id AND e.stream_id = s.stream_id AND e.seq > s.head_seq - $2::int
    AND e.type = CASE s.wait WHEN 'cut' THEN 'CutRequested' ELSE 'ApprovalRequested' END
    AND NOT EXISTS (SELECT FROM :agent.inbox i WHERE i.run_id = e.run_id AND i.stream_id = e.stream_id AND i.key = 'decision:' || (e.payload ->> 'key'))
    AND NOT EXISTS (SELECT FROM :agent.events c WHERE c.run_id = e.run_id AND c.stream_id = e.stream_id AND c.type = 'StreamInvalidated'
                    AND c.seq > e.seq AND (c.payload ->> 'fromSeq')::bigint <= e.seq)
) e ON true
ORDER BY w.created_at, w.run_id, e.recorded_at, e.stream_id, e.seq LIMIT $3::int
`,
  "note-audit": `
INSERT INTO toren_control.audit (by_name, key_id, action, agent, run_id, subject) VALUES ($1::text, $2::uuid, $3::text, $4::text, $5::uuid, $6::text)
`,
  "note-pass": `
UPDATE toren_control.pulse SET passed_at = clock_timestamp()
`,
  notify: `
SELECT pg_notify(n.channel, n.payload)
FROM (SELECT set_config('synchronous_commit', 'off', true)) relaxed, unnest($1::text[], $2::text[]) AS n(channel, payload)
`,
  "open-children": `
SELECT run_id FROM :agent.runs WHERE parent = $1::uuid AND ended IS NULL ORDER BY created_at, run_id
`,
  "pass-gates": `
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
), dead AS (
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
), gate AS MATERIALIZED (
  SELECT f.*, i.inside, least($14::int, greatest(0, f.places - i.inside)) AS room,
         least($14::int, greatest(0, greatest(f.places * (NOT $8::bool)::int, coalesce(f.most, 0)) - i.inside + f.within::int)) AS look
  FROM found f CROSS JOIN LATERAL (
    SELECT CASE WHEN f.fresh AND f.queued AND NOT $8::bool AND f.counted >= f.places
      THEN (SELECT count(*)::int FROM toren_control.gate_entries e WHERE e.key = f.key AND e.inside AND e.until > (SELECT now FROM clock))
      ELSE f.counted END AS inside) i
), line AS MATERIALIZED (
  SELECT g.key, h.agent, h.run_id, h.stream_id, h.since, h.places, h.per_minute, h.tokens, h.call_due, h.calls, h.not_before, h.seen_at
  FROM gate g CROSS JOIN LATERAL (
    SELECT e.* FROM toren_control.gate_entries e
    WHERE e.key = g.key AND NOT e.inside AND e.until > (SELECT now FROM clock) AND (e.run_id, e.stream_id) IS DISTINCT FROM ($6::uuid, $7::text)
    ORDER BY e.since, e.run_id, e.stream_id LIMIT g.look FOR UPDATE) h
), queue AS MATERIALIZED (
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
), after AS MATERIALIZED (
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
), called AS (
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
), look AS MATERIALIZED (
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
), forgotten AS (
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
`,
  plan: `
WITH locked AS MATERIALIZED (
  SELECT s.stream_id, s.status, s.outcome, s.head_seq, s.lease_epoch, s.lease_owner, s.wait, s.generation FROM :agent.streams s
  WHERE s.run_id = $1::uuid AND s.stream_id = ANY (ARRAY['run'] || (SELECT coalesce(array_agg('task:' || x), '{}') FROM unnest($17::text[]) x))
  ORDER BY s.run_id, s.stream_id FOR UPDATE
), go AS MATERIALIZED (
  SELECT head_seq, wait, generation FROM locked
  WHERE stream_id = 'run' AND head_seq = $2::bigint AND lease_epoch = $3::bigint AND lease_owner IS NOT NULL
), claim AS MATERIALIZED (
  SELECT c.wave, l.stream_id, l.status, l.outcome
  FROM go, unnest($16::int[], $17::text[]) AS c(wave, id) JOIN locked l ON l.stream_id = 'task:' || c.id
), moved AS (
  UPDATE :agent.streams s SET
    head_seq = s.head_seq + CASE WHEN k.wave IS NULL THEN cardinality($4::text[]) ELSE 0 END,
    wave = coalesce(k.wave, s.wave),
    inbox_seq = s.inbox_seq + CASE WHEN k.wave IS NOT NULL AND s.status <> 'ended' THEN 1 ELSE 0 END,
    wake_at = CASE WHEN k.wave IS NOT NULL AND s.status = 'parked' THEN clock_timestamp() + $8::int * interval '1 ms' ELSE s.wake_at END,
    status = CASE WHEN k.wave IS NOT NULL AND s.status = 'parked' THEN 'ready' ELSE s.status END,
    lease_until = CASE WHEN k.wave IS NULL THEN clock_timestamp() + $7::int * interval '1 ms' ELSE s.lease_until END,
    wait = CASE WHEN k.wave IS NULL THEN NULL ELSE s.wait END,
    attempts = CASE WHEN k.wave IS NULL AND $6::bool THEN 0 ELSE s.attempts END,
    solo_attempts = CASE WHEN k.wave IS NULL AND $6::bool THEN 0 ELSE s.solo_attempts END,
    problem = CASE WHEN k.wave IS NULL THEN NULL ELSE s.problem END,
    cuts = s.cuts + CASE WHEN k.wave IS NULL THEN $19::int ELSE 0 END
  FROM (SELECT 'run' COLLATE "C" AS stream_id, NULL::int AS wave FROM go UNION ALL SELECT stream_id, wave FROM claim) k
  WHERE s.run_id = $1::uuid AND s.stream_id = k.stream_id
  RETURNING s.stream_id, s.inbox_seq, s.status, k.wave
), written AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload)
  SELECT $1::uuid, 'run', go.head_seq + e.i, e.type, e.payload FROM go, unnest($4::text[], $5::jsonb[]) WITH ORDINALITY AS e(type, payload, i)
), fresh AS MATERIALIZED (
  SELECT f.wave, f.id, f.role, f.input, f.digest
  FROM go, unnest($11::int[], $12::text[], $13::text[], $14::jsonb[], $15::text[]) AS f(wave, id, role, input, digest)
), specs AS (
  INSERT INTO :agent.task_specs (run_id, task_id, role, input, digest) SELECT $1::uuid, id, role, input, digest FROM fresh
), born AS (
  INSERT INTO :agent.streams (run_id, stream_id, wave, role, generation, wake_at)
  SELECT $1::uuid, 'task:' || id, wave, role, go.generation, clock_timestamp() + $8::int * interval '1 ms' FROM go, fresh
), child AS MATERIALIZED (
  SELECT c.*, r.attributes, r.trace_context, coalesce(r.root, r.run_id) AS root, go.generation
  FROM go JOIN :agent.runs r ON r.run_id = $1::uuid,
       unnest($20::uuid[], $21::text[], $22::text[], $23::jsonb[], $24::jsonb[], $25::text[], $26::jsonb[], $29::text[])
         AS c(run_id, process, mode, input, created, digest, terms, data_key)
), child_runs AS (
  INSERT INTO :agent.runs (run_id, process, mode, input, generation, code_hash, request_digest, trace_context, attributes, parent, root, data_key)
  SELECT run_id, process, mode, input, generation, $27::text, digest, trace_context, attributes, $1::uuid, root, data_key FROM child
), child_terms AS (
  INSERT INTO :agent.run_terms (run_id, terms) SELECT c.run_id, array_to_tsvector(ARRAY(SELECT jsonb_array_elements_text(c.terms))
    || ARRAY(SELECT x FROM :agent.run_terms p, unnest(tsvector_to_array(p.terms)) AS x WHERE p.run_id = $1::uuid AND x LIKE '@%'))
  FROM child c
), child_streams AS (
  INSERT INTO :agent.streams (run_id, stream_id, head_seq, generation, wake_at)
  SELECT run_id, 'run', 1, generation, clock_timestamp() + $8::int * interval '1 ms' FROM child
), child_events AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload) SELECT run_id, 'run', 1, 'RunCreated', created FROM child
), child_files AS (
  INSERT INTO :agent.run_files (run_id, position, file_id)
  SELECT c.run_id, f.position, f.file_id FROM child c, :agent.run_files f WHERE f.run_id = $1::uuid
), child_index AS (
  INSERT INTO toren_control.run_index (run_id, agent) SELECT run_id, $28::text FROM child
), posted AS (
  INSERT INTO :agent.inbox (run_id, stream_id, seq, key, kind, payload)
  SELECT $1::uuid, m.stream_id, m.inbox_seq, 'claim:' || m.wave, 'claim', jsonb_build_object('kind', 'claim', 'wave', m.wave)
  FROM moved m WHERE m.wave IS NOT NULL AND m.status <> 'ended'
), counts AS MATERIALIZED (
  SELECT v.wave, v.on_failure, v.max_parallel,
         (SELECT count(*) FROM fresh f WHERE f.wave = v.wave)::int + (SELECT count(*) FROM claim c WHERE c.wave = v.wave AND c.status <> 'ended')::int AS unsettled,
         v.on_failure = 'fail' AND EXISTS (SELECT 1 FROM claim c WHERE c.wave = v.wave AND c.status = 'ended' AND c.outcome <> 'completed') AS broke
  FROM go, unnest($9::int[], $10::text[], $18::int[]) AS v(wave, on_failure, max_parallel)
), waved AS (
  INSERT INTO :agent.waves (run_id, wave, on_failure, unsettled, signalled, max_parallel)
  SELECT $1::uuid, wave, on_failure, unsettled, unsettled = 0 OR broke, max_parallel FROM counts
), stated AS (
  UPDATE :agent.runs r SET waiting_cut = r.waiting_cut - (go.wait = 'cut')::int, phase = 'running'
  FROM go JOIN moved m ON m.stream_id = 'run' AND go.wait IN ('cut', 'timer', 'retry', 'signal') WHERE r.run_id = $1::uuid
)
SELECT m.inbox_seq, (SELECT coalesce(array_agg(wave ORDER BY wave), '{}') FROM counts WHERE unsettled = 0 OR broke) AS complete
FROM moved m WHERE m.stream_id = 'run'
`,
  "price-of-tasks": `
WITH RECURSIVE tree AS (
  SELECT x AS run_id FROM unnest($3::uuid[]) AS x UNION ALL SELECT c.run_id FROM tree t JOIN :agent.runs c ON c.parent = t.run_id
)
SELECT count(*)::int AS calls, coalesce(bool_or((e.payload #>> '{cost,simulated}')::bool), false) AS simulated,
       CASE WHEN count(*) = count(e.payload #> '{cost,usd}') THEN coalesce(sum((e.payload #>> '{cost,usd}')::numeric), 0)::float8 END AS usd
FROM :agent.events e
WHERE ((e.run_id = $1::uuid AND e.stream_id = ANY (SELECT 'task:' || x FROM unnest($2::text[]) x)) OR e.run_id IN (SELECT run_id FROM tree))
  AND e.type = 'LlmCallCompleted'
  AND NOT EXISTS (SELECT FROM :agent.events c WHERE c.run_id = e.run_id AND c.stream_id = e.stream_id AND c.type = 'StreamInvalidated'
                  AND c.seq > e.seq AND (c.payload ->> 'fromSeq')::bigint <= e.seq)
`,
  "read-append": `
SELECT w.ord, s.head_seq, s.lease_epoch, s.lease_owner, s.inbox_seq, s.status, coalesce(v.signalled, false) AS rang
FROM unnest($1::int[], $2::uuid[], $3::text[]) AS w(ord, run_id, stream_id)
JOIN :agent.streams s ON s.run_id = w.run_id AND s.stream_id = w.stream_id
LEFT JOIN :agent.waves v ON v.run_id = s.run_id AND v.wave = s.wave
`,
  "read-blobs": `
SELECT b.run_id, b.hash, b.content FROM unnest($1::uuid[], $2::text[]) AS w(run_id, hash)
JOIN :agent.blobs b ON b.run_id = w.run_id AND b.hash = w.hash
`,
  "read-data-keys": `
SELECT run_id, data_key FROM :agent.runs WHERE run_id = ANY ($1::uuid[])
`,
  "read-depths": `
SELECT w.queue, now.count AS waiting, later.hidden, later.delayed
FROM unnest($1::text[]) AS w(queue), LATERAL (
  SELECT count(*)::int AS count FROM (
    SELECT FROM toren_control.queue_messages m WHERE m.queue = w.queue AND m.dead_at IS NULL AND m.visible_at <= statement_timestamp() LIMIT $2::int) f) now, LATERAL (
  SELECT count(f.receipt)::int AS hidden, (count(*) - count(f.receipt))::int AS delayed FROM (
    SELECT m.receipt FROM toren_control.queue_messages m WHERE m.queue = w.queue AND m.dead_at IS NULL AND m.visible_at > statement_timestamp() LIMIT $2::int) f) later
`,
  "read-events": `
SELECT seq, type, payload, floor(extract(epoch FROM recorded_at) * 1000)::float8 AS recorded_at
FROM :agent.events WHERE run_id = $1::uuid AND stream_id = $2::text AND seq > $3::bigint ORDER BY seq LIMIT $4::int
`,
  "read-fact": `
SELECT s.status, i.seq, i.payload, floor(extract(epoch FROM i.recorded_at) * 1000)::float8 AS at,
       (SELECT r.data_key FROM :agent.runs r WHERE r.run_id = s.run_id) AS data_key
FROM :agent.streams s LEFT JOIN :agent.inbox i ON i.run_id = s.run_id AND i.stream_id = s.stream_id AND i.key = $3::text
WHERE s.run_id = $1::uuid AND s.stream_id = $2::text
`,
  "read-figures": `
SELECT t.runs_started, t.runs_completed, t.runs_failed, t.runs_cancelled, t.model_calls, t.tokens_in, t.tokens_out, t.cost_nano, t.simulated_nano,
       t.unpriced, t.retries, t.cuts, t.replays,
       (SELECT array_agg(c.count ORDER BY w.ord) FROM unnest($1::text[]) WITH ORDINALITY AS w(status, ord), LATERAL (
          SELECT count(*)::int AS count FROM (SELECT FROM :agent.runs r WHERE r.status = w.status ORDER BY r.created_at LIMIT $2::int) found) c) AS live,
       coalesce(greatest(
         (SELECT extract(epoch FROM clock_timestamp() - created_at) FROM :agent.runs WHERE status = 'created' ORDER BY created_at LIMIT 1),
         (SELECT extract(epoch FROM clock_timestamp() - wake_at) FROM :agent.streams WHERE wake_at <= statement_timestamp() ORDER BY wake_at LIMIT 1)), 0)::float8 AS oldest_s
FROM :agent.totals t WHERE t.one
`,
  "read-file": `
SELECT content, object_key, data_key FROM toren_control.files WHERE id = $1::text
`,
  "read-header": `
SELECT header FROM :agent.request_headers WHERE digest = $1::text
`,
  "read-inbox": `
SELECT seq, key, payload FROM :agent.inbox WHERE run_id = $1::uuid AND stream_id = $2::text AND seq > $3::bigint ORDER BY seq LIMIT $4::int
`,
  "read-outcomes": `
SELECT substr(s.stream_id, 6) AS task_id, e.payload
FROM unnest($2::text[]) AS t(id)
JOIN :agent.streams s ON s.run_id = $1::uuid AND s.stream_id = 'task:' || t.id AND s.status = 'ended'
JOIN :agent.events e ON e.run_id = s.run_id AND e.stream_id = s.stream_id AND e.seq = s.head_seq
`,
  "read-outline": `
SELECT e.seq, e.type, floor(extract(epoch FROM e.recorded_at) * 1000)::float8 AS recorded_at,
  CASE WHEN e.type = 'LlmCallCompleted' THEN 'response.content' ELSE f.field END AS said_of,
  CASE WHEN e.type IN ('ChildEnded', 'TaskSettled') THEN 'outcome.error' END AS error_of,
  CASE
  WHEN e.type = 'LlmCallCompleted' THEN payload - 'response' || jsonb_build_object(
    'said', CASE WHEN payload #> '{response,content}' ? $6::text
                 THEN CASE WHEN length(payload #> '{response,content}' ->> $6::text) <= $7::int THEN payload #> '{response,content}' END
                 ELSE to_jsonb(left(jsonb_path_query_first(payload, '$.response.content[*] ? (@.type == "text").text') #>> '{}', $5::int)) END,
    'stopReason', payload #> '{response,stopReason}', 'servedBy', payload #> '{response,servedBy}')
  WHEN e.type IN ('ChildEnded', 'TaskSettled') THEN
    payload - 'outcome' || jsonb_build_object('status', payload #> '{outcome,status}', 'error', payload #> '{outcome,error}')
  WHEN f.field IS NOT NULL THEN payload - ARRAY[f.field, 'signals'] || jsonb_build_object(
    'said', CASE WHEN payload -> f.field ? $6::text THEN CASE WHEN length(payload -> f.field ->> $6::text) <= $7::int THEN payload -> f.field END
                 ELSE to_jsonb(left(payload ->> f.field, $5::int)) END)
  WHEN octet_length(payload::text) <= 4 * $5::int THEN payload
  ELSE (SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(payload) WHERE length(value::text) <= 2 * $5::int)
  END AS payload
FROM :agent.events e,
LATERAL (SELECT CASE e.type
  WHEN 'ToolCallStarted' THEN 'args' WHEN 'ApprovalRequested' THEN 'args' WHEN 'ToolCallCompleted' THEN 'result' WHEN 'TaskCompleted' THEN 'result'
  WHEN 'StepCompleted' THEN 'value' WHEN 'InputRequested' THEN 'text' WHEN 'UserMessage' THEN 'text' WHEN 'ContextCompacted' THEN 'summary'
  WHEN 'ChildStarted' THEN 'input' WHEN 'RunContinued' THEN 'input' END AS field) f
WHERE e.run_id = $1::uuid AND e.stream_id = $2::text AND e.seq > $3::bigint ORDER BY e.seq LIMIT $4::int
`,
  "read-outlines": `
SELECT r.run_id, r.process, r.mode, r.status, r.error, r.generation, r.attributes, r.parent, r.data_key,
       floor(extract(epoch FROM r.created_at) * 1000)::float8 AS created_at, floor(extract(epoch FROM r.ended_at) * 1000)::float8 AS ended_at,
       c.calls, c.tokens, c.nano, c.unpriced, c.simulated
FROM :agent.runs r, LATERAL (
  SELECT sum(s.model_calls)::int AS calls, sum(s.tokens_in + s.tokens_out)::float8 AS tokens, sum(s.cost_nano)::float8 AS nano,
         sum(s.unpriced)::int AS unpriced, bool_or(s.simulated) AS simulated
  FROM :agent.streams s WHERE s.run_id = r.run_id) c
WHERE r.run_id = ANY ($1::uuid[])
`,
  "read-page-text": `
SELECT page_text, data_key FROM toren_control.files WHERE id = $1::text
`,
  "read-plan": `
SELECT s.head_seq, s.lease_epoch, s.inbox_seq,
       (SELECT coalesce(array_agg(v.wave ORDER BY v.wave), '{}') FROM :agent.waves v WHERE v.run_id = s.run_id AND v.wave = ANY ($2::int[]) AND v.signalled
          AND NOT EXISTS (SELECT 1 FROM :agent.inbox i WHERE i.run_id = v.run_id AND i.stream_id = 'run' AND i.key = 'wave:' || v.wave)) AS complete
FROM :agent.streams s WHERE s.run_id = $1::uuid AND s.stream_id = 'run'
`,
  "read-run": `
SELECT r.run_id, r.process, r.mode, r.status, r.input, r.output, r.error, r.generation, r.attributes, r.retries, r.forked_from, r.parent, r.data_key,
       floor(extract(epoch FROM r.created_at) * 1000)::float8 AS created_at, floor(extract(epoch FROM r.ended_at) * 1000)::float8 AS ended_at,
       b.run_id IS NOT NULL AS capped, b.cap_tokens, b.cap_nano, b.reserved_tokens, b.reserved_nano, b.spent_tokens, b.spent_nano,
       (s.inbox_seq - s.sealed_facts)::int AS facts
FROM :agent.runs r JOIN :agent.streams s ON s.run_id = r.run_id AND s.stream_id = 'run' LEFT JOIN :agent.budgets b ON b.run_id = coalesce(r.root, r.run_id) WHERE r.run_id = $1::uuid
`,
  "read-snapshot": `
SELECT seq, absorbed, state FROM :agent.snapshots WHERE run_id = $1::uuid AND stream_id = $2::text AND version = $3::int
`,
  "read-spec": `
SELECT t.role, t.input, t.digest, r.mode = 'session' AND t.task_id = 'w0t0' AS session, s.wave, w.max_parallel, b.cap_tokens, b.cap_nano
FROM :agent.task_specs t JOIN :agent.runs r ON r.run_id = t.run_id LEFT JOIN :agent.budgets b ON b.run_id = coalesce(r.root, r.run_id)
LEFT JOIN :agent.streams s ON s.run_id = t.run_id AND s.stream_id = 'task:' || $2::text LEFT JOIN :agent.waves w ON w.run_id = s.run_id AND w.wave = s.wave
WHERE t.run_id = $1::uuid AND t.task_id = $2::text
`,
  "read-trace": `
SELECT r.trace_context, s.role,
       s.status = 'ended' OR (s.lease_owner IS NOT NULL AND s.lease_until >= clock_timestamp()) AS at_rest
FROM :agent.streams s JOIN :agent.runs r ON r.run_id = s.run_id
WHERE s.run_id = $1::uuid AND s.stream_id = $2::text
`,
  "receive-dead": `
WITH visible AS MATERIALIZED (
  SELECT id FROM toren_control.queue_messages WHERE dead_at IS NOT NULL AND visible_at <= now() ORDER BY visible_at LIMIT $1::int FOR UPDATE SKIP LOCKED
)
UPDATE toren_control.queue_messages m SET receipt = gen_random_uuid(), visible_at = clock_timestamp() + $2::float8 * interval '1 ms'
FROM visible v WHERE m.id = v.id
RETURNING m.queue, m.id::text AS id, m.receipt, m.receive_count, m.body::text AS body
`,
  "receive-hints": `
WITH relaxed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS was
), visible AS MATERIALIZED (
  SELECT id FROM toren_control.queue_messages WHERE queue = $1::text AND dead_at IS NULL AND visible_at <= now()
  ORDER BY visible_at LIMIT $2::int FOR UPDATE SKIP LOCKED
)
UPDATE toren_control.queue_messages m SET
  receive_count = m.receive_count + CASE WHEN m.receive_count < $4::int THEN 1 ELSE 0 END,
  receipt       = gen_random_uuid(),
  dead_at       = CASE WHEN m.receive_count < $4::int THEN NULL ELSE clock_timestamp() END,
  visible_at    = clock_timestamp() + CASE WHEN m.receive_count < $4::int THEN $3::float8 ELSE 0 END * interval '1 ms'
FROM visible v, relaxed WHERE m.id = v.id AND relaxed.was IS NOT NULL
RETURNING m.id::text AS id, m.receipt, m.receive_count, m.body::text AS body, m.dead_at IS NOT NULL AS dead
`,
  "record-dead-letters": `
INSERT INTO toren_control.dead_letters (message_id, queue, body, receive_count)
SELECT w.message_id, w.queue, w.body::jsonb, w.receive_count
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[]) AS w(message_id, queue, body, receive_count)
ORDER BY w.message_id
ON CONFLICT (message_id) DO NOTHING
`,
  "register-deployment": `
WITH newest AS (
  UPDATE toren_control.agents SET generation = generation + CASE WHEN code_hash = $2::text THEN 0 ELSE 1 END, code_hash = $2::text
  WHERE agent = $1::text RETURNING generation
), noted AS (
  INSERT INTO toren_control.deployments (agent, generation, code_hash) SELECT $1::text, generation, $2::text FROM newest ON CONFLICT DO NOTHING
)
SELECT generation FROM newest
`,
  "release-hint": `
UPDATE toren_control.queue_messages m SET visible_at = clock_timestamp() + $3::float8 * interval '1 ms'
FROM (SELECT set_config('synchronous_commit', 'off', true) AS was) relaxed
WHERE m.id = $1::bigint AND m.receipt = $2::uuid AND m.dead_at IS NULL AND relaxed.was IS NOT NULL
`,
  "remove-file": `
DELETE FROM toren_control.files WHERE id = $1::text RETURNING object_key
`,
  "remove-schedule": `
DELETE FROM toren_control.schedules WHERE schedule_id = $1::uuid RETURNING schedule_id
`,
  "renew-places": `
WITH held AS MATERIALIZED (
  SELECT e.key, e.run_id, e.stream_id
  FROM (SELECT set_config('synchronous_commit', 'off', true)) relaxed, unnest($1::uuid[], $2::text[]) AS w(run_id, stream_id)
  JOIN toren_control.gate_entries e ON e.run_id = w.run_id AND e.stream_id = w.stream_id AND e.inside
  ORDER BY e.key, e.run_id, e.stream_id FOR UPDATE OF e SKIP LOCKED
)
UPDATE toren_control.gate_entries e SET until = clock_timestamp() + $3::float8 * interval '1 ms'
FROM held h WHERE e.key = h.key AND e.run_id = h.run_id AND e.stream_id = h.stream_id
`,
  renew: `
WITH want AS MATERIALIZED (
  SELECT * FROM unnest($1::int[], $2::uuid[], $3::text[], $4::bigint[], $5::uuid[]) AS w(ord, run_id, stream_id, epoch, owner)
), mine AS MATERIALIZED (
  SELECT w.ord, s.run_id, s.stream_id
  FROM want w JOIN :agent.streams s ON s.run_id = w.run_id AND s.stream_id = w.stream_id AND s.lease_epoch = w.epoch AND s.lease_owner = w.owner
), locked AS MATERIALIZED (
  SELECT w.ord, s.run_id, s.stream_id
  FROM want w JOIN :agent.streams s ON s.run_id = w.run_id AND s.stream_id = w.stream_id AND s.lease_epoch = w.epoch AND s.lease_owner = w.owner
  ORDER BY s.run_id, s.stream_id FOR UPDATE OF s SKIP LOCKED
), renewed AS (
  UPDATE :agent.streams s SET lease_until = clock_timestamp() + $6::int * interval '1 ms'
  FROM locked l WHERE s.run_id = l.run_id AND s.stream_id = l.stream_id
  RETURNING l.ord, s.inbox_seq
)
SELECT w.ord, r.inbox_seq, EXISTS (SELECT FROM mine m WHERE m.ord = w.ord) AS mine,
       EXISTS (SELECT FROM toren_control.run_watchers o WHERE o.run_id = w.run_id AND o.until > clock_timestamp()) AS watched, floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
FROM want w LEFT JOIN renewed r ON r.ord = w.ord
`,
  reopen: `
WITH locked AS MATERIALIZED (
  SELECT s.run_id, s.stream_id, s.status, s.outcome, s.head_seq, s.inbox_seq, s.lease_epoch, s.lease_owner, s.wait, s.wave, s.generation FROM :agent.streams s
  WHERE (s.run_id = $1::uuid AND s.stream_id = ANY (ARRAY['run'] || (SELECT coalesce(array_agg('task:' || x), '{}') FROM unnest($8::text[]) x)))
     OR (s.run_id = ANY ($12::uuid[]) AND s.stream_id = 'run')
  ORDER BY s.run_id, s.stream_id FOR UPDATE
), go AS MATERIALIZED (
  SELECT head_seq, wait FROM locked
  WHERE run_id = $1::uuid AND stream_id = 'run' AND head_seq = $2::bigint AND lease_epoch = $3::bigint AND lease_owner IS NOT NULL
), again AS MATERIALIZED (
  SELECT l.stream_id, l.head_seq, l.inbox_seq, l.wave,
         coalesce(CASE WHEN t.payload #>> '{error,code}' = ANY ($9::text[]) THEN asked.last WHEN tries.failed AND NOT tries.goes_on THEN tries.first END, l.head_seq) AS from_seq
  FROM go, locked l
  JOIN :agent.events t ON t.run_id = $1::uuid AND t.stream_id = l.stream_id AND t.seq = l.head_seq
  CROSS JOIN LATERAL (SELECT coalesce(max(e.seq) FILTER (WHERE e.type = 'LlmCallCompleted'), 0) AS answer, max(e.seq) FILTER (WHERE e.type = 'LlmCallStarted') AS last
                      FROM :agent.events e WHERE e.run_id = $1::uuid AND e.stream_id = l.stream_id) asked
  CROSS JOIN LATERAL (SELECT bool_or(e.type = 'LlmCallFailed') AS failed,
                             coalesce((array_agg(e.payload ->> 'goesOn' ORDER BY e.seq DESC) FILTER (WHERE e.type = 'LlmCallFailed'))[1], '') = 'true' AS goes_on,
                             min(e.seq) FILTER (WHERE e.type = 'LlmCallStarted') AS first
                      FROM :agent.events e WHERE e.run_id = $1::uuid AND e.stream_id = l.stream_id AND e.seq > asked.answer) tries
  WHERE l.stream_id <> 'run' AND l.status = 'ended' AND l.outcome <> 'completed'
), child AS MATERIALIZED (
  SELECT l.run_id, l.head_seq, l.inbox_seq, greatest(l.generation, $10::int) AS generation
  FROM go, locked l JOIN :agent.runs r ON r.run_id = l.run_id AND r.parent = $1::uuid
  WHERE l.run_id <> $1::uuid AND l.status = 'ended' AND l.outcome <> 'completed'
), moved AS (
  UPDATE :agent.streams s SET
    head_seq = s.head_seq + k.n,
    status = CASE WHEN k.own THEN s.status ELSE 'ready' END,
    outcome = CASE WHEN k.own THEN s.outcome END,
    wait = NULL, problem = NULL,
    lease_epoch = s.lease_epoch + CASE WHEN k.own THEN 0 ELSE 1 END,
    lease_until = CASE WHEN k.own THEN clock_timestamp() + $6::int * interval '1 ms' END,
    wake_at = CASE WHEN k.own THEN s.wake_at ELSE clock_timestamp() + $7::int * interval '1 ms' END,
    attempts = CASE WHEN k.own THEN s.attempts ELSE 0 END,
    solo_attempts = CASE WHEN k.own THEN s.solo_attempts ELSE 0 END,
    generation = greatest(s.generation, $10::int)
  FROM (SELECT $1::uuid AS run_id, 'run' COLLATE "C" AS stream_id, cardinality($4::text[]) AS n, true AS own FROM go
        UNION ALL SELECT $1::uuid, stream_id, 1, false FROM again UNION ALL SELECT run_id, 'run', 1, false FROM child) k
  WHERE s.run_id = k.run_id AND s.stream_id = k.stream_id
  RETURNING s.run_id, s.stream_id, s.inbox_seq
), written AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload)
  SELECT $1::uuid, 'run', go.head_seq + e.i, e.type, e.payload FROM go, unnest($4::text[], $5::jsonb[]) WITH ORDINALITY AS e(type, payload, i)
  UNION ALL
  SELECT $1::uuid, a.stream_id, a.head_seq + 1, 'StreamInvalidated', jsonb_build_object('fromSeq', a.from_seq, 'reason', 'retry', 'generation', $10::int,
           'retry', $11::jsonb || jsonb_build_object('upTo', a.inbox_seq))
  FROM again a
  UNION ALL
  SELECT c.run_id, 'run', c.head_seq + 1, 'StreamInvalidated', jsonb_build_object('fromSeq', c.head_seq, 'reason', 'retry', 'generation', c.generation,
           'retry', $11::jsonb || jsonb_build_object('upTo', c.inbox_seq))
  FROM child c
), ripe AS MATERIALIZED (
  SELECT v.wave, c.k FROM :agent.waves v JOIN (SELECT wave, count(*)::int AS k FROM again GROUP BY wave) c ON c.wave = v.wave
  WHERE v.run_id = $1::uuid ORDER BY v.run_id, v.wave FOR UPDATE OF v
), counted AS (
  UPDATE :agent.waves v SET unsettled = v.unsettled + r.k, signalled = false, reopened = v.reopened + 1
  FROM ripe r WHERE v.run_id = $1::uuid AND v.wave = r.wave
), rows_last AS MATERIALIZED (
  SELECT r.run_id, k.own, k.cut FROM :agent.runs r
  JOIN (SELECT $1::uuid AS run_id, true AS own, (go.wait = 'cut')::int AS cut FROM go WHERE go.wait IN ('cut', 'timer', 'retry', 'signal')
        UNION ALL SELECT run_id, false, 0 FROM child) k ON k.run_id = r.run_id
  WHERE (SELECT count(*) FROM moved) > 0 AND (SELECT count(*) FROM ripe) >= 0 ORDER BY r.run_id FOR UPDATE OF r
), stated AS (
  UPDATE :agent.runs r SET waiting_cut = r.waiting_cut - k.cut, phase = 'running',
    ended = CASE WHEN k.own THEN r.ended END, ended_at = CASE WHEN k.own THEN r.ended_at END, output = CASE WHEN k.own THEN r.output END,
    error = CASE WHEN k.own THEN r.error END, retries = r.retries + CASE WHEN k.own THEN 0 ELSE 1 END
  FROM rows_last k WHERE r.run_id = k.run_id
)
SELECT m.inbox_seq FROM moved m WHERE m.run_id = $1::uuid AND m.stream_id = 'run'
`,
  "rest-pulse": `
UPDATE toren_control.pulse SET next_at = '-infinity' WHERE beat = $1::bigint AND next_at > '-infinity' RETURNING beat
`,
  "retry-run": `
WITH RECURSIVE tree AS (
  SELECT r.run_id FROM :agent.runs r WHERE r.run_id = $1::uuid AND r.parent IS NULL
  UNION ALL SELECT c.run_id FROM tree t JOIN :agent.runs c ON c.parent = t.run_id
), held AS MATERIALIZED (
  SELECT s.head_seq, s.inbox_seq, s.generation, s.status, s.outcome FROM :agent.streams s WHERE s.run_id = $1::uuid AND s.stream_id = 'run' FOR UPDATE
), go AS MATERIALIZED (
  SELECT h.head_seq, h.inbox_seq, h.generation FROM held h
  WHERE h.status = 'ended' AND h.outcome = 'failed' AND h.head_seq = $2::bigint
    AND EXISTS (SELECT 1 FROM tree)
    AND NOT EXISTS (SELECT 1 FROM tree x JOIN :agent.streams t ON t.run_id = x.run_id WHERE t.status <> 'ended')
), moved AS (
  UPDATE :agent.streams s SET head_seq = s.head_seq + 1, lease_epoch = s.lease_epoch + 1, status = 'ready', outcome = NULL, wait = NULL, problem = NULL,
    attempts = 0, solo_attempts = 0, wake_at = clock_timestamp() + $4::int * interval '1 ms'
  FROM go WHERE s.run_id = $1::uuid AND s.stream_id = 'run'
  RETURNING s.head_seq
), written AS (
  INSERT INTO :agent.events (run_id, stream_id, seq, type, payload)
  SELECT $1::uuid, 'run', m.head_seq, 'StreamInvalidated', jsonb_build_object('fromSeq', go.head_seq, 'reason', 'retry', 'generation', go.generation,
           'retry', $3::jsonb || jsonb_build_object('upTo', go.inbox_seq))
  FROM go, moved m
), raised AS (
  UPDATE :agent.budgets b SET cap_tokens = coalesce($5::bigint, b.cap_tokens), cap_nano = coalesce($6::bigint, b.cap_nano)
  FROM moved WHERE b.run_id = $1::uuid AND ($5::bigint IS NOT NULL OR $6::bigint IS NOT NULL)
  RETURNING b.run_id
), stated AS (
  UPDATE :agent.runs r SET ended = NULL, ended_at = NULL, output = NULL, error = NULL, phase = 'running', retries = r.retries + 1
  FROM moved WHERE r.run_id = $1::uuid AND (SELECT count(*) FROM raised) >= 0
)
SELECT head_seq FROM moved
`,
  "revoke-api-key": `
UPDATE toren_control.api_keys SET revoked_at = coalesce(revoked_at, clock_timestamp()) WHERE key_id = $1::uuid
RETURNING key_id, name, begins, scopes, agents, created_by, floor(extract(epoch FROM created_at) * 1000)::float8 AS created_at,
       floor(extract(epoch FROM expires_at) * 1000)::float8 AS expires_at, floor(extract(epoch FROM revoked_at) * 1000)::float8 AS revoked_at,
       floor(extract(epoch FROM last_used_at) * 1000)::float8 AS last_used_at
`,
  "send-hints": `
INSERT INTO toren_control.queue_messages AS m (queue, body, dedupe_key, visible_at)
SELECT w.queue, w.body::jsonb, w.dedupe_key, clock_timestamp() + w.delay_ms * interval '1 ms'
FROM (SELECT set_config('synchronous_commit', 'off', true)) relaxed,
     unnest($1::text[], $2::text[], $3::text[], $4::float8[]) AS w(queue, body, dedupe_key, delay_ms)
ORDER BY w.queue, w.dedupe_key
ON CONFLICT (queue, dedupe_key) WHERE dedupe_key IS NOT NULL AND receipt IS NULL AND dead_at IS NULL
DO UPDATE SET visible_at = EXCLUDED.visible_at WHERE EXCLUDED.visible_at < m.visible_at
`,
  "skip-schedule": `
UPDATE toren_control.schedules SET next_at = to_timestamp($3::float8 / 1000), problem = $4::text
WHERE schedule_id = $1::uuid AND next_at = to_timestamp($2::float8 / 1000)
`,
  "spent-below": `
WITH RECURSIVE tree AS (
  SELECT c.run_id FROM :agent.runs c WHERE c.parent = $1::uuid
  UNION ALL SELECT c.run_id FROM tree t JOIN :agent.runs c ON c.parent = t.run_id
)
SELECT (SELECT count(*) FROM tree)::int AS runs, coalesce(sum(s.model_calls), 0)::int AS calls, coalesce(sum(s.tokens_in + s.tokens_out), 0)::float8 AS tokens,
       coalesce(sum(s.cost_nano), 0)::float8 AS nano, coalesce(sum(s.unpriced), 0)::int AS unpriced, coalesce(bool_or(s.simulated), false) AS simulated,
       (SELECT jsonb_build_object('runs', w.runs, 'runId', w.run_id, 'process', w.process, 'status', w.status)
        FROM (SELECT r.run_id, r.process, r.status, count(*) OVER () AS runs
              FROM tree x JOIN :agent.runs r ON r.run_id = x.run_id
              WHERE r.status IN ('waitingCut', 'waitingApproval', 'awaitingInput', 'waitingSignal')
              ORDER BY array_position(ARRAY['waitingCut', 'waitingApproval', 'awaitingInput'], r.status) NULLS LAST, r.created_at, r.run_id LIMIT 1) w) AS waiting
FROM tree t JOIN :agent.streams s ON s.run_id = t.run_id
`,
  "start-pulse": `
UPDATE toren_control.pulse SET beat = beat + 1, next_at = clock_timestamp() + $1::int * interval '1 ms'
WHERE next_at < clock_timestamp() - $2::int * interval '1 ms' RETURNING beat
`,
  "sum-paid": `
SELECT coalesce(sum(paid_nano), 0)::float8 AS nano, coalesce(bool_or(simulated), false) AS simulated
FROM :agent.streams WHERE paid_day = (clock_timestamp() AT TIME ZONE 'UTC')::date
`,
  "unrepeatable-below": `
WITH RECURSIVE tree AS (
  SELECT x AS child, x AS run_id FROM unnest($1::uuid[]) AS x
  UNION ALL SELECT t.child, c.run_id FROM tree t JOIN :agent.runs c ON c.parent = t.run_id
)
SELECT DISTINCT t.child, b.run_id, b.payload ->> 'tool' AS tool
FROM tree t JOIN :agent.events b ON b.run_id = t.run_id AND b.stream_id > 'run'
JOIN :agent.events d ON d.run_id = b.run_id AND d.stream_id = b.stream_id AND d.seq > b.seq AND d.type = 'ToolCallCompleted'
  AND d.payload ->> 'stepId' = b.payload ->> 'stepId' AND d.payload ->> 'toolUseId' = b.payload ->> 'toolUseId'
WHERE b.type = 'ToolCallStarted' AND b.payload ->> 'effects' = 'external' AND b.payload ->> 'idempotency' = 'none'
ORDER BY 1, 2, 3
`,
  "unwatch-run": `
DELETE FROM toren_control.run_watchers w
USING (SELECT set_config('synchronous_commit', 'off', true)) relaxed
WHERE w.run_id = $1::uuid AND w.watcher = $2::uuid
`,
  "watch-run": `
WITH gone AS (
  DELETE FROM toren_control.run_watchers w WHERE (w.run_id, w.watcher) IN (
    SELECT o.run_id, o.watcher FROM toren_control.run_watchers o
    WHERE o.until < clock_timestamp() AND o.watcher <> $2::uuid LIMIT 100 FOR UPDATE SKIP LOCKED)
), watching AS (
  INSERT INTO toren_control.run_watchers AS w (run_id, watcher, until)
  VALUES ($1::uuid, $2::uuid, clock_timestamp() + $3::int * interval '1 ms')
  ON CONFLICT (run_id, watcher) DO UPDATE SET until = excluded.until
  RETURNING w.run_id
)
SELECT pg_notify($4::text, run_id || CASE WHEN $5::bool THEN ' new' ELSE '' END)
FROM watching, (SELECT set_config('synchronous_commit', 'off', true)) relaxed
`,
  "write-blobs": `
INSERT INTO :agent.blobs (run_id, hash, bytes, content) SELECT * FROM unnest($1::uuid[], $2::text[], $3::int[], $4::jsonb[]) ON CONFLICT DO NOTHING
`,
} as const;

export type Verb = keyof typeof QUERIES;

/** In the order of their numbers. `:agent` stands for the schema of an agent. */
export const MIGRATIONS = {
  control: {
    "0001_first_tables": `
CREATE TABLE toren_control.agents (
  agent text PRIMARY KEY CHECK (agent ~ '^[a-z][a-z0-9_]{0,40}$'),
  generation int NOT NULL DEFAULT 0,
  code_hash text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE toren_control.deployments (
  agent text NOT NULL REFERENCES toren_control.agents,
  generation int NOT NULL,
  code_hash text NOT NULL,
  registered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (agent, generation)
);
CREATE TABLE toren_control.queue_messages (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue text NOT NULL,
  body jsonb NOT NULL CHECK (jsonb_typeof(body) = 'object'),
  dedupe_key text,
  sent_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  visible_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  receive_count int NOT NULL DEFAULT 0,
  receipt uuid,
  dead_at timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX queue_messages_visible ON toren_control.queue_messages (queue, visible_at) WHERE dead_at IS NULL;
CREATE INDEX queue_messages_dead ON toren_control.queue_messages (visible_at) WHERE dead_at IS NOT NULL;
CREATE UNIQUE INDEX queue_messages_receipt ON toren_control.queue_messages (receipt) WHERE receipt IS NOT NULL;
CREATE UNIQUE INDEX queue_messages_dedupe ON toren_control.queue_messages (queue, dedupe_key) WHERE dedupe_key IS NOT NULL AND receipt IS NULL AND dead_at IS NULL;
CREATE TABLE toren_control.dead_letters (
  message_id text PRIMARY KEY,
  queue text NOT NULL,
  body jsonb NOT NULL,
  receive_count int NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE toren_control.files (
  id text PRIMARY KEY,
  name text NOT NULL,
  media_type text NOT NULL,
  bytes int NOT NULL,
  content bytea NOT NULL,
  pages int,
  page_text text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX files_newest ON toren_control.files (created_at, id);
CREATE TABLE toren_control.run_index (
  run_id uuid PRIMARY KEY,
  agent text NOT NULL
);
`,
    "0002_flow": `
CREATE TABLE toren_control.gates (
  key text COLLATE "C" PRIMARY KEY,
  places int NOT NULL,
  per_minute float8,
  inside int NOT NULL DEFAULT 0,
  waiting int NOT NULL DEFAULT 0,
  level float8 NOT NULL DEFAULT 0,
  cool_until timestamptz,
  moved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX gates_cooling ON toren_control.gates (cool_until) WHERE cool_until IS NOT NULL;
CREATE INDEX gates_oldest ON toren_control.gates (created_at);
CREATE TABLE toren_control.gate_entries (
  key text COLLATE "C" NOT NULL REFERENCES toren_control.gates ON DELETE CASCADE,
  agent text NOT NULL,
  run_id uuid NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  inside boolean NOT NULL,
  until timestamptz NOT NULL,
  since timestamptz NOT NULL,
  places int NOT NULL,
  per_minute float8,
  tokens float8 NOT NULL,
  call_due timestamptz,
  calls int NOT NULL DEFAULT 0,
  PRIMARY KEY (key, run_id, stream_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX gate_entries_ends ON toren_control.gate_entries (key, until);
CREATE INDEX gate_entries_queue ON toren_control.gate_entries (key, since, run_id, stream_id) WHERE NOT inside;
CREATE INDEX gate_entries_places ON toren_control.gate_entries (run_id, stream_id) WHERE inside;
`,
    "0003_pulse": `
CREATE TABLE toren_control.pulse (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  beat bigint NOT NULL DEFAULT 0,
  next_at timestamptz NOT NULL DEFAULT '-infinity',
  passed_at timestamptz
);
INSERT INTO toren_control.pulse DEFAULT VALUES;
`,
    "0004_keys_and_objects": `
CREATE TABLE toren_control.api_keys (
  key_hash text PRIMARY KEY,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
ALTER TABLE toren_control.files ALTER COLUMN content DROP NOT NULL;
ALTER TABLE toren_control.files ADD COLUMN object_key text;
ALTER TABLE toren_control.files ADD CONSTRAINT files_content_somewhere CHECK ((content IS NULL) = (object_key IS NOT NULL));
`,
    "0005_not_before": `
ALTER TABLE toren_control.gate_entries ADD COLUMN not_before timestamptz;
`,
    "0006_seen_at": `
ALTER TABLE toren_control.gate_entries ADD COLUMN seen_at timestamptz NOT NULL DEFAULT clock_timestamp();
`,
    "0007_keys_and_audit": `
ALTER TABLE toren_control.api_keys
  ADD COLUMN key_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
  ADD COLUMN begins text,
  ADD COLUMN scopes text[] NOT NULL DEFAULT '{admin}',
  ADD COLUMN agents text[],
  ADD COLUMN created_by text,
  ADD COLUMN expires_at timestamptz,
  ADD COLUMN revoked_at timestamptz,
  ADD COLUMN last_used_at timestamptz;
CREATE TABLE toren_control.audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  by_name text NOT NULL,
  key_id uuid,
  action text NOT NULL,
  agent text,
  run_id uuid,
  subject text
);
CREATE INDEX audit_of_run ON toren_control.audit (run_id, id) WHERE run_id IS NOT NULL;
`,
    "0008_run_watchers": `
CREATE TABLE toren_control.run_watchers (
  run_id uuid NOT NULL,
  watcher uuid NOT NULL,
  until timestamptz NOT NULL,
  PRIMARY KEY (run_id, watcher)
);
`,
    "0009_schedules": `
CREATE TABLE toren_control.schedules (
  schedule_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name text NOT NULL,
  agent text NOT NULL,
  process text NOT NULL,
  input jsonb NOT NULL,
  cron text NOT NULL,
  zone text NOT NULL,
  catch_up text NOT NULL CHECK (catch_up IN ('none', 'last', 'all')),
  next_at timestamptz,
  problem text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  created_by text NOT NULL
);
CREATE INDEX schedules_due ON toren_control.schedules (next_at) WHERE next_at IS NOT NULL;
CREATE TABLE toren_control.schedule_fires (
  schedule_id uuid NOT NULL REFERENCES toren_control.schedules ON DELETE CASCADE,
  fire_at timestamptz NOT NULL,
  run_id uuid NOT NULL,
  fired_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (schedule_id, fire_at)
);
`,
    "0010_data_keys": `
ALTER TABLE toren_control.files ADD COLUMN data_key text;
`,
  },
  agent: {
    "0001_first_tables": `
CREATE TABLE :agent.runs (
  run_id uuid PRIMARY KEY,
  process text NOT NULL,
  mode text NOT NULL DEFAULT 'task' CHECK (mode IN ('task', 'session')),
  input jsonb NOT NULL,
  output jsonb,
  error jsonb,
  generation int NOT NULL,
  code_hash text NOT NULL,
  idempotency_key text,
  request_digest text NOT NULL,
  ended text CHECK (ended IN ('completed', 'failed', 'cancelled')),
  waiting_cut int NOT NULL DEFAULT 0,
  waiting_approval int NOT NULL DEFAULT 0,
  waiting_input int NOT NULL DEFAULT 0,
  phase text NOT NULL DEFAULT 'created' CHECK (phase IN ('created', 'running', 'waitingRetry', 'waitingTimer')),
  status text NOT NULL GENERATED ALWAYS AS (CASE WHEN ended IS NOT NULL THEN ended WHEN waiting_cut > 0 THEN 'waitingCut'
    WHEN waiting_approval > 0 THEN 'waitingApproval' WHEN waiting_input > 0 THEN 'awaitingInput' ELSE phase END) STORED,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE UNIQUE INDEX runs_idempotency_key ON :agent.runs (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX runs_newest ON :agent.runs (created_at, run_id);
CREATE INDEX runs_by_status ON :agent.runs (status, created_at, run_id);
CREATE TABLE :agent.streams (
  run_id uuid NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  head_seq bigint NOT NULL DEFAULT 0,
  inbox_seq bigint NOT NULL DEFAULT 0,
  status text NOT NULL DEFAULT 'ready' CHECK (status IN ('ready', 'running', 'parked', 'ended')),
  outcome text CHECK (outcome IN ('completed', 'failed', 'cancelled')),
  wait text CHECK (wait IN ('wave', 'timer', 'retry', 'cut', 'claim', 'approval', 'input')),
  absorbed bigint NOT NULL DEFAULT 0,
  wake_at timestamptz,
  lease_owner uuid,
  lease_epoch bigint NOT NULL DEFAULT 0,
  lease_until timestamptz,
  attempts int NOT NULL DEFAULT 0,
  solo_attempts int NOT NULL DEFAULT 0,
  generation int NOT NULL DEFAULT 0,
  problem jsonb,
  role text,
  wave int,
  PRIMARY KEY (run_id, stream_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, autovacuum_analyze_scale_factor = 0.05,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX streams_wake ON :agent.streams (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX streams_parked ON :agent.streams (run_id, stream_id) WHERE status = 'parked';
CREATE TABLE :agent.events (
  run_id uuid NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  type text NOT NULL,
  payload jsonb NOT NULL CHECK (jsonb_typeof(payload) = 'object'),
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (run_id, stream_id, seq)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
CREATE TABLE :agent.inbox (
  run_id uuid NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  key text NOT NULL,
  kind text NOT NULL,
  payload jsonb NOT NULL CHECK (jsonb_typeof(payload) = 'object'),
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (run_id, stream_id, seq),
  UNIQUE (run_id, stream_id, key)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
CREATE TABLE :agent.task_specs (
  run_id uuid NOT NULL,
  task_id text COLLATE "C" NOT NULL,
  role text NOT NULL,
  input jsonb NOT NULL,
  digest text NOT NULL,
  ordinal bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (run_id, task_id)
);
CREATE TABLE :agent.request_headers (
  digest text COLLATE "C" PRIMARY KEY,
  header jsonb NOT NULL CHECK (jsonb_typeof(header) = 'object'),
  first_used_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE :agent.waves (
  run_id uuid NOT NULL,
  wave int NOT NULL,
  on_failure text NOT NULL CHECK (on_failure IN ('fail', 'collect')),
  unsettled int NOT NULL,
  signalled boolean NOT NULL,
  PRIMARY KEY (run_id, wave)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE TABLE :agent.blobs (
  run_id uuid NOT NULL,
  hash text COLLATE "C" NOT NULL,
  bytes int NOT NULL,
  content jsonb NOT NULL,
  PRIMARY KEY (run_id, hash)
);
CREATE TABLE :agent.run_files (
  run_id uuid NOT NULL,
  position int NOT NULL,
  file_id text NOT NULL,
  PRIMARY KEY (run_id, position)
);
`,
    "0002_budgets": `
ALTER TABLE :agent.streams ADD COLUMN hold_tokens bigint NOT NULL DEFAULT 0, ADD COLUMN hold_nano bigint NOT NULL DEFAULT 0;
CREATE TABLE :agent.budgets (
  run_id uuid PRIMARY KEY,
  cap_tokens bigint,
  cap_nano bigint,
  reserved_tokens bigint NOT NULL DEFAULT 0,
  reserved_nano bigint NOT NULL DEFAULT 0,
  spent_tokens bigint NOT NULL DEFAULT 0,
  spent_nano bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
`,
    "0003_snapshots": `
CREATE TABLE :agent.snapshots (
  run_id uuid NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  version int NOT NULL,
  absorbed bigint NOT NULL,
  state jsonb NOT NULL,
  PRIMARY KEY (run_id, stream_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
`,
    "0004_trace_context": `
ALTER TABLE :agent.runs ADD COLUMN trace_context text;
`,
    "0005_max_parallel": `
ALTER TABLE :agent.waves ADD COLUMN max_parallel int;
`,
    "0006_run_terms": `
ALTER TABLE :agent.runs ADD COLUMN attributes jsonb;
CREATE INDEX runs_by_process ON :agent.runs (process, created_at, run_id);
CREATE TABLE :agent.run_terms (
  run_id uuid PRIMARY KEY,
  terms tsvector NOT NULL
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
INSERT INTO :agent.run_terms (run_id, terms)
SELECT r.run_id, array_to_tsvector(coalesce(w.words, '{}'))
FROM :agent.runs r, LATERAL (
  SELECT array_agg(DISTINCT left(lower(m[1]), 64)) AS words FROM regexp_matches(left(r.input::text, 16000), '[[:alnum:]]+', 'g') AS m
) w;
CREATE INDEX run_terms_terms ON :agent.run_terms USING gin (terms) WITH (fastupdate = off);
`,
    "0007_counts": `
ALTER TABLE :agent.streams
  ADD COLUMN model_calls int NOT NULL DEFAULT 0,
  ADD COLUMN tokens_in bigint NOT NULL DEFAULT 0,
  ADD COLUMN tokens_out bigint NOT NULL DEFAULT 0,
  ADD COLUMN cost_nano bigint NOT NULL DEFAULT 0,
  ADD COLUMN unpriced int NOT NULL DEFAULT 0,
  ADD COLUMN simulated boolean NOT NULL DEFAULT false,
  ADD COLUMN retries int NOT NULL DEFAULT 0,
  ADD COLUMN cuts int NOT NULL DEFAULT 0,
  ADD COLUMN replays int NOT NULL DEFAULT 0,
  ADD COLUMN paid_nano bigint NOT NULL DEFAULT 0,
  ADD COLUMN paid_day date;
CREATE INDEX streams_paid ON :agent.streams (paid_day) WHERE paid_day IS NOT NULL;
UPDATE :agent.streams s SET
  model_calls = c.calls, tokens_in = c.tokens_in, tokens_out = c.tokens_out, cost_nano = c.cost_nano, unpriced = c.unpriced, simulated = c.simulated,
  retries = c.retries, cuts = c.cuts
FROM (
  SELECT run_id, stream_id,
    count(*) FILTER (WHERE type = 'LlmCallCompleted') AS calls,
    coalesce(sum((payload #>> '{usage,input}')::bigint + (payload #>> '{usage,cacheRead}')::bigint + (payload #>> '{usage,cacheWrite}')::bigint), 0) AS tokens_in,
    coalesce(sum((payload #>> '{usage,output}')::bigint), 0) AS tokens_out,
    coalesce(sum(round((payload #>> '{cost,usd}')::numeric * 1000000000)), 0)::bigint AS cost_nano,
    count(*) FILTER (WHERE type = 'LlmCallCompleted' AND payload #> '{cost,usd}' IS NULL) AS unpriced,
    coalesce(bool_or((payload #>> '{cost,simulated}')::bool), false) AS simulated,
    count(*) FILTER (WHERE type = 'LlmCallFailed') AS retries,
    count(*) FILTER (WHERE type = 'StreamInvalidated') AS cuts
  FROM :agent.events WHERE type IN ('LlmCallCompleted', 'LlmCallFailed', 'StreamInvalidated') GROUP BY run_id, stream_id
) c
WHERE s.run_id = c.run_id AND s.stream_id = c.stream_id;
`,
    "0008_retries": `
ALTER TABLE :agent.runs ADD COLUMN retries int NOT NULL DEFAULT 0;
ALTER TABLE :agent.waves ADD COLUMN reopened int NOT NULL DEFAULT 0;
`,
    "0009_signals": `
ALTER TABLE :agent.runs
  DROP CONSTRAINT runs_phase_check,
  ADD CONSTRAINT runs_phase_check CHECK (phase IN ('created', 'running', 'waitingRetry', 'waitingTimer', 'waitingSignal'));
ALTER TABLE :agent.streams
  DROP CONSTRAINT streams_wait_check,
  ADD CONSTRAINT streams_wait_check CHECK (wait IN ('wave', 'timer', 'retry', 'cut', 'claim', 'approval', 'input', 'signal'));
`,
    "0010_forks": `
ALTER TABLE :agent.runs ADD COLUMN forked_from uuid;
ALTER TABLE :agent.streams ADD COLUMN copied_seq bigint NOT NULL DEFAULT 0;
`,
    "0011_ended_runs": `
CREATE INDEX runs_ended ON :agent.runs (ended_at) WHERE ended_at IS NOT NULL;
`,
    "0012_totals": `
CREATE TABLE :agent.totals (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  runs_started bigint NOT NULL DEFAULT 0,
  runs_completed bigint NOT NULL DEFAULT 0,
  runs_failed bigint NOT NULL DEFAULT 0,
  runs_cancelled bigint NOT NULL DEFAULT 0,
  model_calls bigint NOT NULL DEFAULT 0,
  tokens_in bigint NOT NULL DEFAULT 0,
  tokens_out bigint NOT NULL DEFAULT 0,
  cost_nano bigint NOT NULL DEFAULT 0,
  simulated_nano bigint NOT NULL DEFAULT 0,
  unpriced bigint NOT NULL DEFAULT 0,
  retries bigint NOT NULL DEFAULT 0,
  cuts bigint NOT NULL DEFAULT 0,
  replays bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
INSERT INTO :agent.totals DEFAULT VALUES;
ALTER TABLE :agent.streams ADD COLUMN counted bigint[], ADD COLUMN count_at timestamptz DEFAULT '-infinity';
ALTER TABLE :agent.streams ALTER COLUMN count_at DROP DEFAULT;
CREATE INDEX streams_count ON :agent.streams (count_at) WHERE count_at IS NOT NULL;
`,
    "0013_children": `
ALTER TABLE :agent.runs ADD COLUMN parent uuid, ADD COLUMN root uuid;
CREATE INDEX runs_parent ON :agent.runs (parent) WHERE parent IS NOT NULL;
CREATE INDEX runs_root ON :agent.runs (root) WHERE root IS NOT NULL;
ALTER TABLE :agent.streams
  DROP CONSTRAINT streams_wait_check,
  ADD CONSTRAINT streams_wait_check CHECK (wait IN ('wave', 'timer', 'retry', 'cut', 'claim', 'approval', 'input', 'signal', 'child'));
`,
    "0014_sealed": `
ALTER TABLE :agent.streams
  ADD COLUMN sealed_seq bigint NOT NULL DEFAULT 0,
  ADD COLUMN sealed_facts bigint NOT NULL DEFAULT 0;
`,
    "0015_data_keys": `
ALTER TABLE :agent.runs ADD COLUMN data_key text;
`,
  },
} as const;
