// GET /agents: what this server serves.
import type { Context } from "hono";
import type { HttpDeps } from "./deps.ts";

export async function listAgents(c: Context, deps: HttpDeps): Promise<Response> {
  const agents = deps.agents.names().flatMap((name) => {
    const deployed = deps.agents.get(name);
    if (deployed === null) return [];
    const { agent, generation } = deployed;
    return {
      name,
      description: agent.description,
      generation,
      processes: [...agent.processes.keys()],
      roles: [...agent.roles.values()].map((role) => ({
        name: role.name,
        model: role.model,
        tools: role.tools.map((tool) => tool.name),
        maxSteps: role.maxSteps,
      })),
    };
  });
  return c.json({ agents });
}
