// Calls that a person allows or not (all gated calls of an answer are requested at once, the others run, then the task parks). Whether a call is gated
// is decided once: ApprovalRequested, or ToolCallStarted without one, is the record of it (c6).
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
    await request(work, stepId, call, checked.tool);
  }
  const decision = work.state.decisions.get(call.approval?.key ?? "");
  if (decision === undefined) return { type: "waiting" };
  return decision.granted ? { type: "granted" } : { type: "denied", by: decision.by, comment: decision.comment };
}

/** The author's function sees checked arguments. One that throws can't tell: a person is asked. */
function gated({ tool, args }: Checked): boolean {
  try {
    return tool.approval(args);
  } catch {
    return true;
  }
}

async function request(work: TaskWork, stepId: string, call: Call, tool: ToolDefinition): Promise<void> {
  const { hint, state, role, deps } = work;
  const { id: toolUseId, name, args } = call.use;
  const key = approvalKey(state, idempotencyKey(hint.runId, hint.taskId, state, name, args), tool.idempotency);
  const { approvalTimeoutMs } = role;
  const expiry =
    approvalTimeoutMs === null ? {} : { expiresAt: Math.ceil((await deps.store.streams.now()) + approvalTimeoutMs) };
  work.record({ type: "ApprovalRequested", stepId, toolUseId, tool: name, args, key, ...expiry });
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
