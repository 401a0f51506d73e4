// The agents of a bundle as a worker serves them: their code from the manifest, the values of their `env` from the environment and the secret.
import { defineAgent } from "../shared/authoring/define-agent.ts";
import type { LoadProblem } from "../shared/authoring/problem.ts";
import { TorenError } from "../shared/core/errors.ts";
import type { AgentDefinition, Agents, Deployed } from "../shared/ports/agents.ts";
import type { Deployments } from "../shared/ports/deployments.ts";
import type { BundledAgent } from "./bundled-agents.ts";

type Env = Readonly<Record<string, string | undefined>>;

export interface ServedAgents extends Agents {
  /** Of agents that can't be served as the environment is now; the others are. */
  readonly problems: readonly LoadProblem[];
  /** The environment's values, as they are now. Work under way keeps the definitions it has. */
  use(env: Env): void;
}

/** Whether any agent lists variables that `env` doesn't have: then the secret is read before the first work. */
export const wantsSecrets = (bundled: readonly BundledAgent[], env: Env): boolean =>
  bundled.some(({ config }) => config.env.some((name) => env[name] === undefined));

/**
 * `longLane` false: nobody works without a time limit, so roles with `runtime: long` are worked on like all others.
 * @throws TorenError `agent.not_registered` when a deployer hasn't registered this very code: it is deployed before its migration, or beside it.
 */
export async function serveAgents(
  bundled: readonly BundledAgent[],
  deployments: Pick<Deployments, "generationOf">,
  env: Env,
  longLane = true,
): Promise<ServedAgents> {
  const generations = new Map<string, number>();
  await Promise.all(
    bundled.map(async (source) => {
      const { name, codeHash } = withoutEnv(source);
      const generation = await deployments.generationOf(name, codeHash);
      if (generation === null) {
        const say = `This code of agent "${name}" was never registered: the stack's migration runs before its functions change.`;
        throw new TorenError("agent.not_registered", say);
      }
      generations.set(name, generation);
    }),
  );
  let served = new Map<string, Deployed>();
  let problems: readonly LoadProblem[] = [];
  const use = (values: Env): void => {
    const defined = bundled.map((source) => define(source, values));
    problems = defined.flatMap((one) => (one.ok ? [] : one.problems));
    const agents = defined.flatMap((one) => (one.ok ? [longLane ? one.agent : withoutLongLane(one.agent)] : []));
    served = new Map(agents.map((agent) => [agent.name, { agent, generation: generations.get(agent.name) ?? 0 }]));
  };
  use(env);
  return {
    get: (name) => served.get(name) ?? null,
    names: () => [...served.keys()].sort(),
    use,
    get problems() {
      return problems;
    },
  };
}

function withoutLongLane(agent: AgentDefinition): AgentDefinition {
  const roles = [...agent.roles].map(
    ([name, { lane, ...role }]) => [name, lane === "solo" ? { ...role, lane } : role] as const,
  );
  return { ...agent, roles: new Map(roles) };
}

/** Its name and hash, which the values of its environment don't change. @throws for a bundle that its build should have refused. */
export function withoutEnv(source: BundledAgent): AgentDefinition {
  const defined = define(source, Object.fromEntries(source.config.env.map((name) => [name, ""])));
  if (defined.ok) return defined.agent;
  const messages = defined.problems.map((problem) => problem.message).join("; ");
  throw new TorenError("agent.invalid", `The agent "${source.config.name}" of this bundle is broken: ${messages}`);
}

function define({ config, prompts, tools, workflows, code, torenVersion }: BundledAgent, env: Env) {
  const file = `agents/${config.name}/agent.yaml`;
  const module = (path: string, exports: Readonly<Record<string, unknown>>) => ({
    file: `agents/${config.name}/${path}`,
    exports,
  });
  return defineAgent({
    yaml: { config, problems: [], file, lineOf: () => 1 },
    tools: tools === null ? null : module("tools.ts", tools),
    workflows: new Map(
      Object.entries(workflows).map(([name, exports]) => [name, module(`workflows/${name}.ts`, exports)]),
    ),
    prompts: new Map(Object.entries(prompts)),
    env,
    code,
    torenVersion,
  });
}
