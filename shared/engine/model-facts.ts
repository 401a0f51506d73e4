// What is known of a role's model: what the agent's author says goes before the table.
import type { Deployed, RoleDefinition } from "../ports/agents.ts";
import type { ModelFacts } from "../ports/model.ts";
import type { EngineDeps } from "./deps.ts";

export const factsOf = (deps: Pick<EngineDeps, "models">, _: Deployed, role: RoleDefinition): ModelFacts => {
  const facts = deps.models.facts(role.model);
  return role.contextWindow === null ? facts : { ...facts, contextWindow: role.contextWindow };
};
