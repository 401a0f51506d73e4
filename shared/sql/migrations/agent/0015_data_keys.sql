-- Runs whose content is sealed have the key of it, wrapped.
ALTER TABLE :agent.runs ADD COLUMN data_key text;
