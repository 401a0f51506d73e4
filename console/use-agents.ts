// The agents that are served: asked for once by whatever shows them.
import { get } from "./api.ts";
import { type Loaded, useQuery } from "./use-query.ts";

export interface AgentJson {
  readonly name: string;
  readonly description: string;
  readonly generation: number;
  readonly processes: readonly string[];
  readonly sessions: readonly string[];
  readonly roles: readonly {
    readonly name: string;
    readonly model: string;
    readonly tools: readonly string[];
    readonly maxSteps: number;
  }[];
}

export const useAgents = (everyMs = 0): Loaded<readonly AgentJson[]> =>
  useQuery("agents", async (signal) => (await get<{ agents: AgentJson[] }>("agents", {}, signal)).agents, everyMs);
