-- The append (I2) of one stream in which nothing settles, parks, ends, releases or goes on after a wait: append-plain for a batch of one, at some 2/3 of its
-- cost. What append-plain locks and compares first in an order, one UPDATE compares by itself: after a wait for the row Postgres tests the newest version.
-- Locks: the one stream row.
-- $1 run  $2 stream  $3 head  $4 epoch  $5 n int  $6 progress bool  $7 lease ms int  $8 type text[]  $9 payloads, a jsonb array
-- $10 what it adds to the stream's counts bigint[]: calls, tokens in, tokens out, nano dollars, unpriced, simulated, retries, cuts, replays (null: nothing)
-- Returns inbox_seq, or no row: a conflict. inbox_seq comes from RETURNING: a subselect would show the snapshot (I10).
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
