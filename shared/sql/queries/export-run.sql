-- A page of one table's rows that belong to a run, in the order of their keys, with the columns as they are; what of a stream is in the totals already is
-- theirs, not the run's. A blob comes in parts of $7 characters.
-- The rows of a page have some $6 bytes together, or it is one row. No locks.
-- $1 run uuid  $2 table  $3 after key text  $4 after number bigint  $5 rows int  $6 bytes int  $7 characters of a part int
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
   FROM (SELECT b.hash, b.bytes, b.content::text AS content FROM :agent.blobs b -- its text once, not once a part; of no more of them than fill a page
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
