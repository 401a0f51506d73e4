// What the guardian does for one agent after the other.
import type { EngineDeps } from "./deps.ts";
import { createParts } from "./parts.ts";

/** The sum over all agents. One whose schema is broken keeps nobody else from being looked at; the first failure is thrown when all were. */
export async function eachAgent(
  { agents }: Pick<EngineDeps, "agents">,
  look: (agent: string) => Promise<number>,
): Promise<number> {
  let sum = 0;
  const parts = createParts();
  for (const agent of agents.names()) sum += (await parts.done(() => look(agent))) ?? 0;
  parts.check();
  return sum;
}
