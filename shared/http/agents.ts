// GET /agents: what this server serves.
import { seenBy } from "./access.ts";
import type { HttpContext, HttpDeps } from "./deps.ts";

export async function listAgents(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const agents = seenBy(c, deps.agents.names()).flatMap((name) => {
    const deployed = deps.agents.get(name);
    if (deployed === null) return [];
    const { agent, generation } = deployed;
    return {
      name,
      description: agent.description,
      generation,
      processes: [...agent.processes.keys()],
      sessions: [...agent.processes].flatMap(([process, { kind }]) => (kind === "session" ? [process] : [])),
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
