// The handlers under test with a real queue, and the engine's functions given by the test.
import type { EngineDeps } from "../../shared/engine/deps.ts";
import type { Log } from "../../shared/ports/log.ts";
import type { Hint, Queue, QueueName, Received } from "../../shared/ports/queue.ts";

/** What a handler itself touches of the engine; everything else is for the engine's functions, which the test replaces. */
export const engineOver = (queue: Queue, log: Log): EngineDeps =>
  ({ queue, log, store: { traces: { of: async () => null } } }) as unknown as EngineDeps;

let runs = 0;
export const hintOfTask = (taskId: string | null = "w0t0"): Hint => {
  const runId = `00000000-0000-4000-8000-${String(runs++).padStart(12, "0")}`;
  return { agent: "crew", runId, taskId };
};

/** Received as the pump does it. */
export async function receiveAll(queue: Queue, name: QueueName): Promise<Received[]> {
  return await queue.receive(name, 10, 60_000);
}

export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 5_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
