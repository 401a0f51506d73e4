// The agents of a folder as a module: their code imported statically, agent.yaml and prompts as values. They are loaded once before, as a laptop does, so that
// whatever is wrong with them is said here and not by the first run.
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { bundleModules } from "../local/load/bundle.ts";
import { loadAgent, moduleFiles, readPrompts, torenVersion } from "../local/load/load-agents.ts";
import { parseAgentYaml } from "../shared/authoring/agent-yaml.ts";
import { problemText } from "../shared/authoring/problem.ts";
import { decodeUnicode } from "../shared/core/text-files.ts";
import { type AgentToDeploy, readAgents } from "./agents.ts";
import { StackProblem } from "./problem.ts";

/** The module's text. @throws StackProblem that says what is wrong with them, a line a problem. */
export async function manifestOf(agentsFolder: string, cacheFolder: string): Promise<string> {
  const agents = readAgents(agentsFolder);
  const problems: string[] = [];
  for (const agent of agents) {
    // Values of `env` are in the installation's secret; here it only matters that they are named.
    const env = Object.fromEntries(agent.env.map((name) => [name, "set when it runs"]));
    const loaded = await loadAgent(join(agentsFolder, agent.name), { env, cacheFolder });
    problems.push(...loaded.problems.map(problemText));
  }
  if (problems.length > 0) throw new StackProblem(`The agents can't be deployed as they are:\n${problems.join("\n")}`);
  const imports: string[] = [];
  const values: string[] = [];
  for (const agent of agents) {
    const { lines, value } = await bundledAgent(join(agentsFolder, agent.name), agent, values.length, cacheFolder);
    imports.push(...lines);
    values.push(value);
  }
  return [...imports, `export const BUNDLED_AGENTS = [${values.join(",\n")}];`].join("\n");
}

/** The lines that import an agent's code, and the expression that is the agent. */
async function bundledAgent(
  folder: string,
  { name }: AgentToDeploy,
  index: number,
  cacheFolder: string,
): Promise<{ readonly lines: readonly string[]; readonly value: string }> {
  const source = decodeUnicode(await readFile(join(folder, "agent.yaml")));
  const yaml = parseAgentYaml(source.ok ? source.text : "", "agent.yaml", name);
  const prompts = Object.fromEntries(await readPrompts(yaml, folder));
  const files = await moduleFiles(folder);
  const known = new Map(files.map((file, i) => [file, `agent${index}_${i}`]));
  const lines = [...known].map(([file, as]) => `import * as ${as} from ${JSON.stringify(resolve(folder, file))};`);
  const workflows = files
    .flatMap((file) =>
      file.startsWith("workflows/") ? [[file.slice("workflows/".length, -".ts".length), known.get(file)]] : [],
    )
    .map(([process, as]) => `${JSON.stringify(process)}: ${as}`);
  const value = `{
config: ${JSON.stringify(yaml.config)},
prompts: ${JSON.stringify(prompts)},
tools: ${known.get("tools.ts") ?? "null"},
workflows: {${workflows.join(", ")}},
code: ${JSON.stringify(await portableCode(folder, files, cacheFolder))},
torenVersion: ${JSON.stringify(await torenVersion())},
}`;
  return { lines, value };
}

/** As the laptop's loader hashes it. */
async function portableCode(folder: string, files: readonly string[], cacheFolder: string): Promise<string> {
  if (files.length === 0) return "";
  const modules = new Map(files.map((file, i) => [`module${i}`, file]));
  const bundled = await bundleModules(folder, modules, cacheFolder);
  if (bundled.ok) return bundled.bundle.portable;
  throw new StackProblem(
    `The code of ${folder} can't be bundled: ${bundled.problems.map(({ message }) => message).join("; ")}`,
  );
}
