-- Runs that a workflow starts. Their runs wait for them as for a wave. The check only becomes wider.
ALTER TABLE :agent.runs ADD COLUMN parent uuid, ADD COLUMN root uuid;
CREATE INDEX runs_parent ON :agent.runs (parent) WHERE parent IS NOT NULL;
CREATE INDEX runs_root ON :agent.runs (root) WHERE root IS NOT NULL;
ALTER TABLE :agent.streams
  DROP CONSTRAINT streams_wait_check,
  ADD CONSTRAINT streams_wait_check CHECK (wait IN ('wave', 'timer', 'retry', 'cut', 'claim', 'approval', 'input', 'signal', 'child'));
