// What the stack must know of the agents before anything is built: their names, and the models that they ask (which permissions hang on). Their code is
// looked at by the build.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseAgentYaml } from "../shared/authoring/agent-yaml.ts";
import { problemText } from "../shared/authoring/problem.ts";
import { decodeUnicode } from "../shared/core/text-files.ts";
import { StackProblem } from "./problem.ts";

export interface AgentToDeploy {
  readonly name: string;
  /** Names of models as roles give them, each once, sorted. */
  readonly models: readonly string[];
  /** Names of the values that tools get, which must be in the installation's secret. */
  readonly env: readonly string[];
}

/** In the order of their names. @throws StackProblem that says everything that is wrong with their agent.yaml. */
export function readAgents(agentsFolder: string): AgentToDeploy[] {
  const folder = resolve(agentsFolder);
  const shown = relative(process.cwd(), folder) || ".";
  const names = foldersOf(folder);
  if (names === null)
    throw new StackProblem(
      `There is no folder ${shown}: put your agents there, agents/<name>/ with an agent.yaml each, or name another one by the option \`agents\`.`,
    );
  const agents = names.map((name) => readAgent(folder, name, join(shown, name, "agent.yaml")));
  if (agents.length === 0)
    throw new StackProblem(
      `${shown} holds no agent: there is nothing to deploy. Make a folder ${join(shown, "<name>")} with an agent.yaml.`,
    );
  const wrong = agents.flatMap((agent) => (typeof agent === "string" ? [agent] : []));
  if (wrong.length > 0) throw new StackProblem(`The agents can't be deployed as they are:\n${wrong.join("\n")}`);
  return agents.flatMap((agent) => (typeof agent === "string" ? [] : [agent]));
}

function foldersOf(folder: string): string[] | null {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !/^[._]/.test(entry.name))
      .map(({ name }) => name)
      .filter((name) => readdirSync(join(folder, name)).some((file) => MARKS_AN_AGENT.test(file)))
      .sort();
  } catch {
    return null;
  }
}
/** As the laptop's loader knows them. */
const MARKS_AN_AGENT = /^(?:agent\.ya?ml|tools\.ts|workflows|prompts)$/;

/** A text: what is wrong with it, a line a problem. */
function readAgent(folder: string, name: string, shown: string): AgentToDeploy | string {
  let source: Buffer;
  try {
    source = readFileSync(join(folder, name, "agent.yaml"));
  } catch {
    return `${shown}: there is no agent.yaml that can be read: an agent's folder holds one, under exactly this name`;
  }
  const text = decodeUnicode(source);
  if (!text.ok) return `${shown}: it isn't text: ${text.reason}`;
  const { config, problems } = parseAgentYaml(text.text, shown, name);
  if (config === null || problems.length > 0) return problems.map(problemText).join("\n");
  const models = new Set(config.roles.flatMap(({ model }) => (model === undefined ? [] : [model])));
  return { name, models: [...models].sort(), env: config.env };
}
