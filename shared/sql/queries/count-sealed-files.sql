-- As count-sealed-runs, of files and schedules. No locks. $1 the mark of sealed values
SELECT split_part(k.data_key, '.', 2) AS key_id, count(*)::int AS count, min(k.data_key) AS sample
FROM (SELECT data_key FROM toren_control.files WHERE data_key IS NOT NULL
      UNION ALL SELECT input ->> 'key' FROM toren_control.schedules WHERE jsonb_typeof(input) = 'object' AND input ? $1::text) k
GROUP BY 1 ORDER BY 1
