// Who did what by the API: started, decided, cancelled, made keys and schedules. What came of it is in the runs' own logs.

export type AuditAction =
  | "run.started"
  | "run.cancelled"
  | "run.retried"
  | "run.forked"
  | "run.erased"
  | "runs.pruned"
  | "call.approved"
  | "call.denied"
  | "cut.rerun"
  | "cut.kept"
  | "deadLetter.sent"
  | "deadLetter.dropped"
  | "key.created"
  | "key.revoked"
  | "schedule.created"
  | "schedule.changed"
  | "schedule.removed";

/** Who is behind something: the name that is shown, and the key. */
export interface Actor {
  readonly by: string;
  /** Null: the laptop's dev key, or a schedule. */
  readonly keyId: string | null;
}

export interface AuditEntry extends Actor {
  readonly action: AuditAction;
  readonly agent: string | null;
  readonly runId: string | null;
  /** What it was about where it is no run: a call, a key, a schedule. Never a secret. */
  readonly subject: string | null;
}
export interface AuditRow extends AuditEntry {
  readonly id: number;
  readonly at: number;
}

export interface Audit {
  note(entry: AuditEntry): Promise<void>;
  /** Newest first; `before`: the id of the last one seen. */
  page(filter: { readonly runId?: string; readonly before?: number; readonly limit: number }): Promise<AuditRow[]>;
}
