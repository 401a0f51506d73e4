// The agents that a worker serves: the newest code of each.
import type { Agents, Deployed } from "../../shared/ports/agents.ts";

export interface ReplaceableAgents extends Agents {
  /** From the next look-up on this is the agent's code; work under way keeps the definition it has. */
  replace(deployed: Deployed): void;
}

export function createAgents(deployed: Iterable<Deployed>): ReplaceableAgents {
  const byName = new Map(Array.from(deployed, (one) => [one.agent.name, one]));
  return {
    get: (name) => byName.get(name) ?? null,
    names: () => [...byName.keys()].sort(),
    replace: (one) => void byName.set(one.agent.name, one),
  };
}
