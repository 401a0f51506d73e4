-- A run that began as a copy of another one's log, and how much of each stream is the copy: those answers were paid by the other.
ALTER TABLE :agent.runs ADD COLUMN forked_from uuid;
ALTER TABLE :agent.streams ADD COLUMN copied_seq bigint NOT NULL DEFAULT 0;
