// GET /agents: what this server serves.
import * as z from "zod";
import { seenBy } from "./access.ts";
import type { HttpContext, HttpDeps } from "./deps.ts";

const text = z.string();
const agent = z.object({
  name: text,
  description: text,
  generation: z.int().nonnegative(),
  processes: z.array(text),
  sessions: z.array(text).meta({ description: "Those of the processes that are conversations." }),
  roles: z.array(z.object({ name: text, model: text, tools: z.array(text), maxSteps: z.int().nonnegative() })),
});
export const agentOut = agent;
export const agentsList = z.object({ agents: z.array(agent) });
export type AgentJson = z.infer<typeof agent>;

export async function listAgents(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const agents = seenBy(c, deps.agents.names()).flatMap((name): AgentJson | [] => {
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
