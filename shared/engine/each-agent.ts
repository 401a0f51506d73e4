// What the guardian does for one agent after the other.
import type { EngineDeps } from "./deps.ts";

/** The sum over all agents. One whose schema is broken keeps nobody else from being looked at; the first failure is thrown when all were. */
export async function eachAgent(
  { agents }: Pick<EngineDeps, "agents">,
  look: (agent: string) => Promise<number>,
): Promise<number> {
  let sum = 0;
  const failures: unknown[] = [];
  for (const agent of agents.names()) {
    try {
      sum += await look(agent);
    } catch (e) {
      failures.push(e);
    }
  }
  if (failures.length > 0) throw failures[0];
  return sum;
}
