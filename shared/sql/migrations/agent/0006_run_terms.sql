-- Labels of runs, and what runs are found by. Runs of before are found by the words of their input's text too, in Postgres' idea of letters.
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
