// Calls that a person allows or not (all gated calls of an answer are requested at once, the others run, then the task parks). Whether a call is gated
// is decided once: ApprovalRequested, or ToolCallStarted without one, is the record of it (c6).
import { hash } from "../core/digest.ts";
import { isUnrepeatable } from "../core/events.ts";
import type { Call } from "../core/task/phase.ts";
import { approvalKey, idempotencyKey } from "../core/task/state.ts";
import type { ToolDefinition } from "../ports/agents.ts";
import type { Worked } from "./deps.ts";
import { streamOf } from "./hints.ts";
import { parkStream } from "./park-stream.ts";
import type { TaskWork } from "./task-work.ts";

interface Checked {
  readonly tool: ToolDefinition;
  readonly args: unknown;
}

/** `granted`: it may run. */
export type Approval =
  | { readonly type: "granted" }
  | { readonly type: "denied"; readonly by: string; readonly comment: string }
  | { readonly type: "waiting" };

/** The key of the fact that decides: the first under it wins, whoever sends it. */
export const decisionKey = (key: string): string => `decision:${key}`;

/** `checked`: the tool, and the call's arguments as it has accepted them. */
export async function approvalOf(work: TaskWork, stepId: string, call: Call, checked: Checked): Promise<Approval> {
  if (call.approval === null) {
    if (!gated(checked)) return { type: "granted" };
    const key = idempotencyKey(work.hint.runId, work.hint.taskId, work.state, call.use.name, call.use.args);
    await request(work, stepId, call, approvalKey(work.state, key, checked.tool.idempotency));
  }
  return decisionUnder(work, call.approval?.key ?? "");
}

function decisionUnder({ state }: TaskWork, key: string): Approval {
  const decision = state.decisions.get(key);
  if (decision === undefined) return { type: "waiting" };
  return decision.granted ? { type: "granted" } : { type: "denied", by: decision.by, comment: decision.comment };
}

/**
 * A call that began and has no result: its worker died in the middle of it (c3). One with a key, or without effects, just runs again: null. So does another
 * one, unless its role asks; what somebody decided holds whatever the role says by now. Each beginning is asked about by itself.
 */
export async function outcomeOf(work: TaskWork, stepId: string, call: Call): Promise<Approval | null> {
  const { started } = call;
  if (started === null || !isUnrepeatable(started)) return null;
  const { idempotencyKey: key } = started;
  const asking = hash(`outcome\n${key}\n${work.state.starts.get(key) ?? 0}`);
  const decided = decisionUnder(work, asking);
  if (decided.type !== "waiting") return decided;
  if (work.role.onUnknownOutcome !== "ask") return null;
  if (call.approval?.key !== asking) await request(work, stepId, call, asking, { reason: "unknownOutcome" });
  return decided;
}

/** The author's function sees checked arguments. One that throws can't tell: a person is asked. */
function gated({ tool, args }: Checked): boolean {
  try {
    return tool.approval(args);
  } catch {
    return true;
  }
}

async function request(
  work: TaskWork,
  stepId: string,
  call: Call,
  key: string,
  more: { readonly reason?: "unknownOutcome" } = {},
): Promise<void> {
  const { role, deps } = work;
  const { id: toolUseId, name, args } = call.use;
  const { approvalTimeoutMs } = role;
  const expiry =
    approvalTimeoutMs === null ? {} : { expiresAt: Math.ceil((await deps.store.streams.now()) + approvalTimeoutMs) };
  work.record({ type: "ApprovalRequested", stepId, toolUseId, tool: name, args, key, ...expiry, ...more });
}

/** Parks until somebody decides. What has expired is denied by a fact under the decision's own key: a person who was quicker has won. */
export async function waitForApproval(work: TaskWork, waiting: readonly Call[]): Promise<Worked | null> {
  const { deps, writer, hint } = work;
  const times = waiting.flatMap((c) => (c.approval?.expiresAt == null ? [] : [c.approval.expiresAt]));
  if (times.length === 0) return await parkStream(work, "approval");
  const now = await deps.store.streams.now();
  const expired = waiting.filter((c) => c.approval?.expiresAt != null && c.approval.expiresAt <= now);
  for (const { approval } of expired) {
    const key = approval?.key ?? "";
    const fact = {
      kind: "decision",
      key,
      granted: false,
      by: "the time limit",
      comment: "nobody decided in time",
    } as const;
    await deps.store.streams.deliver(streamOf(hint), decisionKey(key), fact);
    writer.expect();
  }
  return expired.length > 0 ? null : await parkStream(work, "approval", { at: Math.min(...times), now });
}
