// What the steps of one task share, and how its worker lets go of it.
import type { ErrorInfo } from "../core/errors.ts";
import type { TaskEvent } from "../core/events.ts";
import { type OutputCheck, outputCheck } from "../core/task/output.ts";
import { apply, type TaskState } from "../core/task/state.ts";
import type { Deployed, RoleDefinition } from "../ports/agents.ts";
import type { Hint } from "../ports/queue.ts";
import type { Outcome, TaskSpec } from "../ports/store.ts";
import type { Circumstances, EngineDeps, Worked } from "./deps.ts";
import { nudge } from "./hints.ts";
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
  /** Buffers the event, and folds it: the state is always what the log will say. */
  record(event: TaskEvent): void;
  fail(error: ErrorInfo): Promise<Worked>;
}

export function taskWork(
  deps: EngineDeps,
  hint: TaskHint,
  at: Circumstances,
  found: { readonly writer: StreamWriter; readonly deployed: Deployed; readonly spec: TaskSpec },
  role: RoleDefinition,
  state: TaskState,
): TaskWork {
  const { writer, deployed, spec } = found;
  return {
    deps,
    hint,
    at,
    deployed,
    role,
    spec,
    writer,
    state,
    record: (event) => {
      apply(state, event, writer.buffer(event));
    },
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
  const { rang } = await writer.flush({ type: "end", outcome });
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
