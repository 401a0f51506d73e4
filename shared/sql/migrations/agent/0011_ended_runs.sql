-- What is erased by age is found by it.
CREATE INDEX runs_ended ON :agent.runs (ended_at) WHERE ended_at IS NOT NULL;
