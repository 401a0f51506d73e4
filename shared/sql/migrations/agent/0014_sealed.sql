-- A run that goes on anew: events of its own stream that are history, and facts that belong to them. Old code never writes either, and leaves such a stream alone
-- for the event that it doesn't know.
ALTER TABLE :agent.streams
  ADD COLUMN sealed_seq bigint NOT NULL DEFAULT 0,
  ADD COLUMN sealed_facts bigint NOT NULL DEFAULT 0;
