// Which code is the newest (I7). Concurrent deployers agree by the lock on the agent's row.
import { TorenError } from "../../core/errors.ts";
import type { Database } from "../../ports/database.ts";
import type { Deployments } from "../../ports/deployments.ts";
import { createStatements } from "./statements.ts";

export function createDeployments(database: Pick<Database, "appends" | "pool">): Deployments {
  const statements = createStatements(database);
  return {
    // Not repeated by itself after a lost acknowledgement to any harm: the newest's hash again is the same generation.
    register: async (agent, codeHash) => {
      const [row] = await statements.ask<{ generation: number }>("register-deployment", null, [agent, codeHash]);
      if (row === undefined)
        throw new TorenError("agent.not_registered", `The agent ${agent} has no schema here: run \`toren migrate\`.`);
      return row.generation;
    },
    generationOf: async (agent, codeHash) =>
      (await statements.ask<{ generation: number | null }>("find-generation", null, [agent, codeHash]))[0]
        ?.generation ?? null,
    newest: async () => {
      const rows = await statements.ask<{ agent: string; generation: number }>("list-generations", null, []);
      return new Map(rows.map(({ agent, generation }) => [agent, generation]));
    },
    agents: async () => (await statements.ask<{ agent: string }>("list-agents", null, [])).map((row) => row.agent),
  };
}
