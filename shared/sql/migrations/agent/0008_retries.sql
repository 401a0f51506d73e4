-- A failed run goes on: how often that was, and how often each wave was opened again (its bell's key says so: a key is posted once).
ALTER TABLE :agent.runs ADD COLUMN retries int NOT NULL DEFAULT 0;
ALTER TABLE :agent.waves ADD COLUMN reopened int NOT NULL DEFAULT 0;
