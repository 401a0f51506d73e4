-- The trace that a run's spans belong to, kept for what wakes it days later.
ALTER TABLE :agent.runs ADD COLUMN trace_context text;
