-- By which keys the data keys of an agent's runs, and of what its requests begin with, are wrapped; `sample`: one of them. It reads them all: for people who
-- ask. No locks. $1 the mark of sealed values
SELECT split_part(k.data_key, '.', 2) AS key_id, count(*)::int AS count, min(k.data_key) AS sample
FROM (SELECT data_key FROM :agent.runs WHERE data_key IS NOT NULL
      UNION ALL SELECT header ->> 'key' FROM :agent.request_headers WHERE header ? $1::text) k
GROUP BY 1 ORDER BY 1
