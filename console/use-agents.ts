// The agents that are served: asked for once by whatever shows them.
import type { AgentJson } from "../shared/http/agents.ts";
import { get } from "./api.ts";
import { type Loaded, useQuery } from "./use-query.ts";

export const useAgents = (everyMs = 0): Loaded<readonly AgentJson[]> =>
  useQuery("agents", async (signal) => (await get<{ agents: AgentJson[] }>("agents", {}, signal)).agents, everyMs);
