// What is known of a role's model: what the agent's author says goes before the table.
import { factsWith } from "../core/model-settings.ts";
import type { Deployed, RoleDefinition } from "../ports/agents.ts";
import type { ModelFacts } from "../ports/model.ts";
import type { EngineDeps } from "./deps.ts";

export const factsOf = (deps: Pick<EngineDeps, "models">, { agent }: Deployed, role: RoleDefinition): ModelFacts => {
  const facts = factsWith(agent.models.get(role.model), deps.models.facts(role.model));
  return role.contextWindow === null ? facts : { ...facts, contextWindow: role.contextWindow };
};
