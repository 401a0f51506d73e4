// What the steps of one task share, and how its worker lets go of it.
import type { ErrorInfo } from "../core/errors.ts";
import type { TaskEvent } from "../core/events.ts";
import { type OutputCheck, outputCheck } from "../core/task/output.ts";
import type { Snapshot } from "../core/task/snapshot.ts";
import { apply } from "../core/task/state.ts";
import type { TaskState } from "../core/task/task-state.ts";
import type { Deployed, RoleDefinition } from "../ports/agents.ts";
import type { ModelFacts } from "../ports/model.ts";
import type { Hint } from "../ports/queue.ts";
import type { Outcome, TaskSpec } from "../ports/store.ts";
import type { Circumstances, EngineDeps, Worked } from "./deps.ts";
import { nudge } from "./hints.ts";
import { linkedTo } from "./linked-signal.ts";
import { factsOf } from "./model-facts.ts";
import type { StreamWriter } from "./stream-writer.ts";

export type TaskHint = Hint & { readonly taskId: string };

/** What the steps of one task share. */
export interface TaskWork {
  readonly deps: EngineDeps;
  readonly hint: TaskHint;
  readonly at: Circumstances;
  readonly deployed: Deployed;
  readonly role: RoleDefinition;
  readonly spec: TaskSpec;
  readonly writer: StreamWriter;
  readonly state: TaskState;
  /** The last event of the snapshot that the state was read from; 0: it was read from the whole log. */
  readonly snapshotSeq: number;
  /** Aborts when the writer is interrupted, or this worker is about to be cut off: a step under way is given up. */
  readonly interrupt: AbortSignal;
  /** Leaves nothing on the signals that outlive the task. */
  close(): void;
  /** What is known of the role's model. */
  readonly facts: ModelFacts;
  /** Buffers the event, and folds it: the state is always what the log will say. */
  record(event: TaskEvent): void;
  /** Folds an event that is on record at `seq`. */
  fold(event: TaskEvent, seq: number): void;
  fail(error: ErrorInfo): Promise<Worked>;
}

export function taskWork(
  deps: EngineDeps,
  hint: TaskHint,
  at: Circumstances,
  found: {
    readonly writer: StreamWriter;
    readonly deployed: Deployed;
    readonly spec: TaskSpec;
    readonly snapshot: Snapshot | null;
  },
  role: RoleDefinition,
  state: TaskState,
): TaskWork {
  const { writer, deployed, spec } = found;
  const fold = (event: TaskEvent, seq: number): void => apply(state, event, seq);
  const cut = at.deadline === undefined ? null : linkedTo(writer.interrupt, at.deadline);
  return {
    deps,
    hint,
    at,
    deployed,
    role,
    spec,
    writer,
    state,
    interrupt: cut?.signal ?? writer.interrupt,
    close: () => cut?.unlink(),
    snapshotSeq: found.snapshot?.seq ?? 0,
    facts: factsOf(deps, deployed, role),
    record: (event) => {
      fold(event, writer.buffer(event));
    },
    fold,
    fail: (error) => endFailed(deps, hint, writer, error),
  };
}

const checks = new WeakMap<RoleDefinition, OutputCheck>();
/** A role's schema is compiled once. */
export function checkOf(role: RoleDefinition): OutputCheck | null {
  if (role.outputSchema === null) return null;
  const check = checks.get(role) ?? outputCheck(role.outputSchema);
  checks.set(role, check);
  return check;
}

export async function end(deps: EngineDeps, hint: Hint, writer: StreamWriter, outcome: Outcome): Promise<Worked> {
  return await ended(deps, hint, await writer.flush({ type: "end", outcome }));
}

/** The last task of a wave wakes its run. */
export async function ended(deps: EngineDeps, hint: Hint, { rang }: { readonly rang: boolean }): Promise<Worked> {
  if (rang) await nudge(deps, [{ ...hint, taskId: null }]);
  return "ended";
}

export async function endFailed(deps: EngineDeps, hint: Hint, writer: StreamWriter, error: ErrorInfo): Promise<Worked> {
  writer.buffer({ type: "TaskFailed", error });
  return await end(deps, hint, writer, { status: "failed", error });
}

export async function endCancelled(
  deps: EngineDeps,
  hint: Hint,
  writer: StreamWriter,
  inboxSeq: number,
  error: ErrorInfo,
): Promise<Worked> {
  writer.buffer({ type: "TaskCancelled", inboxSeq, error });
  return await end(deps, hint, writer, { status: "cancelled", error });
}
