-- Runs that wait for a signal. Both checks only become wider.
ALTER TABLE :agent.runs
  DROP CONSTRAINT runs_phase_check,
  ADD CONSTRAINT runs_phase_check CHECK (phase IN ('created', 'running', 'waitingRetry', 'waitingTimer', 'waitingSignal'));
ALTER TABLE :agent.streams
  DROP CONSTRAINT streams_wait_check,
  ADD CONSTRAINT streams_wait_check CHECK (wait IN ('wave', 'timer', 'retry', 'cut', 'claim', 'approval', 'input', 'signal'));
