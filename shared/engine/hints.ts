// The messages that work travels by (I9). Losing one costs time, never truth: the stream's clock brings the guardian.
import type { Hint, QueueName } from "../ports/queue.ts";
import type { EngineDeps } from "./deps.ts";

export const taskStream = (taskId: string): string => `task:${taskId}`;

export const streamOf = (hint: Hint): { agent: string; runId: string; streamId: string } => ({
  agent: hint.agent,
  runId: hint.runId,
  streamId: hint.taskId === null ? "run" : taskStream(hint.taskId),
});

export const hintOf = (agent: string, runId: string, streamId: string): Hint => ({
  agent,
  runId,
  taskId: streamId === "run" ? null : streamId.slice("task:".length),
});

const dedupeKey = (hint: Hint, queue: QueueName): string =>
  `${queue === "tasks-solo" ? "solo" : hint.taskId === null ? "tick" : "task"}-${hint.runId}-${hint.taskId ?? "run"}`;

/** Sends hints of both kinds to the queues they belong to. */
export async function nudge(
  deps: Pick<EngineDeps, "queue">,
  hints: readonly Hint[],
  how: { solo?: boolean; delayMs?: number } = {},
): Promise<void> {
  if (hints.length === 0) return;
  await deps.queue.send(
    hints.map((hint) => {
      const queue: QueueName = how.solo ? "tasks-solo" : hint.taskId === null ? "ticks" : "tasks-short";
      const delay = how.delayMs === undefined ? {} : { delayMs: how.delayMs };
      return {
        queue,
        hint,
        dedupeKey: `${dedupeKey(hint, queue)}${how.delayMs === undefined ? "" : "-later"}`,
        ...delay,
      };
    }),
  );
}
