// The statuses of a run, those first in which it hasn't ended.

export const LIVE_STATUSES = [
  "created",
  "running",
  "waitingCut",
  "waitingApproval",
  "awaitingInput",
  "waitingSignal",
  "waitingTimer",
  "waitingRetry",
] as const;

export const RUN_STATUSES = [...LIVE_STATUSES, "completed", "failed", "cancelled"] as const;
