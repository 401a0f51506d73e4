// The messages that work travels by (I9). Losing one costs time, never truth: the stream's clock brings the guardian.
import { streamIdOf, taskIdOf } from "../core/stream-id.ts";
import type { Lane } from "../ports/agents.ts";
import type { Hint, Outgoing, QueueName } from "../ports/queue.ts";
import type { EngineDeps } from "./deps.ts";
import { traceparentFor } from "./spans.ts";

export const streamOf = (hint: Hint): { agent: string; runId: string; streamId: string } => ({
  agent: hint.agent,
  runId: hint.runId,
  streamId: streamIdOf(hint.taskId),
});

export const hintOf = (agent: string, runId: string, streamId: string): Hint => ({
  agent,
  runId,
  taskId: taskIdOf(streamId),
});

function outgoing(hint: Hint, how: { lane?: Lane | undefined; delayMs?: number; mark?: string }): Outgoing {
  const queue = queueFor(hint, how.lane);
  const dedupeKey = `${hint.runId}-${hint.taskId ?? "run"}${how.mark ?? ""}`; // keys are per queue
  const { agent, runId, taskId } = hint;
  const traceparent = traceparentFor(hint);
  const sent: Hint = { agent, runId, taskId, ...(traceparent === undefined ? {} : { traceparent }) };
  return { queue, hint: sent, dedupeKey, ...(how.delayMs === undefined ? {} : { delayMs: how.delayMs }) };
}

/** A run's own stream runs alone too, but its ticks are never long. */
function queueFor({ taskId }: Hint, lane: Lane | undefined): QueueName {
  if (lane === "solo") return "tasks-solo";
  if (taskId === null) return "ticks";
  return lane === "long" ? "tasks-long" : "tasks-short";
}

/** Where tasks of a role belong; null or unknown: anywhere, and whoever takes it knows better. */
export const laneOf = (deps: Pick<EngineDeps, "agents">, agent: string, role: string | null): Lane | undefined =>
  role === null ? undefined : deps.agents.get(agent)?.agent.roles.get(role)?.lane;

/** Sends hints of both kinds to the queues they belong to. */
export async function nudge(
  deps: Pick<EngineDeps, "queue">,
  hints: readonly Hint[],
  how: { lane?: Lane | undefined } = {},
): Promise<void> {
  if (hints.length > 0) await deps.queue.send(hints.map((hint) => outgoing(hint, how)));
}

/** A hint that somebody else may take, a while later (I7). */
export async function nudgeLater(deps: Pick<EngineDeps, "queue">, hint: Hint, delayMs: number): Promise<void> {
  await deps.queue.send([outgoing(hint, { delayMs, mark: "-deferred" })]);
}

/** A hint for a due time, exact to about a second. Without it the guardian's pass brings it. */
export async function nudgeAt(deps: Pick<EngineDeps, "timers">, hint: Hint, dueAt: number, now: number): Promise<void> {
  await deps.timers.set(outgoing(hint, { mark: `-at-${dueAt}` }), dueAt, now);
}
