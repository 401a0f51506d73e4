// The laptop's loader: folders under agents/ become definitions. Everything that is wrong is said at once, with file and line; nothing is thrown for it.
import { readdir, readFile, realpath } from "node:fs/promises";
import { basename, join, resolve, sep } from "node:path";
import { checkOptions } from "../../shared/adapters/model/models.ts";
import { type AgentFile, parseAgentYaml } from "../../shared/authoring/agent-yaml.ts";
import { defineAgent, type LoadedModule } from "../../shared/authoring/define-agent.ts";
import type { LoadProblem } from "../../shared/authoring/problem.ts";
import { messageOf } from "../../shared/core/errors.ts";
import { MAX_TOKENS_DEFAULT } from "../../shared/core/limits.ts";
import { schemaProblem } from "../../shared/core/task/output.ts";
import { decodeUnicode } from "../../shared/core/text-files.ts";
import type { AgentDefinition } from "../../shared/ports/agents.ts";
import { bundleModules, displayPath } from "./bundle.ts";
import { importBundle } from "./import-bundle.ts";

export interface LoadOptions {
  /** Where agents' `env` comes from, as a rule process.env. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Bundles are kept here; made if missing. */
  readonly cacheFolder: string;
}

export interface LoadedAgent {
  /** The folder's name. */
  readonly name: string;
  /** Null: see the problems. */
  readonly agent: AgentDefinition | null;
  readonly problems: readonly LoadProblem[];
  /** Absolute paths of what it was made of, as far as that is known: a change of one calls for a reload. */
  readonly inputs: readonly string[];
}

export interface LoadedAgents {
  readonly agents: readonly AgentDefinition[];
  readonly problems: readonly LoadProblem[];
}

/** All agents of a folder, in the order of their names. Broken ones don't keep the others from loading. */
export async function loadAgents(agentsFolder: string, options: LoadOptions): Promise<LoadedAgents> {
  const folder = resolve(agentsFolder);
  const names = await agentNames(folder);
  if (names === null) {
    const message = "there is no such folder: agents live in agents/<name>/ with an agent.yaml each";
    return {
      agents: [],
      problems: [{ code: "agent.invalid", agent: "", file: displayPath(folder), line: null, message }],
    };
  }
  const loaded: LoadedAgent[] = [];
  for (const name of names) loaded.push(await loadAgent(join(folder, name), options));
  return gathered(loaded);
}

export const gathered = (loaded: readonly LoadedAgent[]): LoadedAgents => ({
  agents: loaded.flatMap(({ agent }) => (agent === null ? [] : [agent])),
  problems: loaded.flatMap(({ problems }) => problems),
});

/** Folders that are agents, or look as if they were meant to be. Null: the folder isn't there. */
export async function agentNames(agentsFolder: string): Promise<string[] | null> {
  const entries = await readdir(agentsFolder, { withFileTypes: true }).catch(() => null);
  if (entries === null) return null;
  const names: string[] = [];
  for (const { name } of entries.filter((entry) => entry.isDirectory() && !/^[._]/.test(entry.name))) {
    const files = await readdir(join(agentsFolder, name)).catch((): string[] => []);
    if (files.some((file) => /^(?:agent\.ya?ml|tools\.ts|workflows|prompts)$/.test(file))) names.push(name);
  }
  return names.sort();
}

/** One agent's folder. */
export async function loadAgent(agentFolder: string, options: LoadOptions): Promise<LoadedAgent> {
  const folder = resolve(agentFolder);
  const name = basename(folder);
  const yamlPath = join(folder, "agent.yaml");
  const source = await readFile(yamlPath).then(decodeUnicode, () => null);
  if (source?.ok !== true) {
    const message =
      source === null
        ? "there is no agent.yaml that can be read: an agent's folder holds one, under exactly this name"
        : `agent.yaml isn't text: ${source.reason}`;
    return {
      name,
      agent: null,
      inputs: [yamlPath],
      problems: [{ code: "agent.invalid", agent: name, file: displayPath(yamlPath), line: null, message }],
    };
  }
  const yaml = optionsChecked(parseAgentYaml(source.text, displayPath(yamlPath), name), name, options.env);
  const code = await loadCode(folder, name, options.cacheFolder);
  const prompts = await readPrompts(yaml, folder);
  const inputs = [yamlPath, ...code.inputs, ...promptPaths(yaml).map((path) => join(folder, path))];
  if (!code.ok) return { name, agent: null, inputs, problems: [...yaml.problems, ...code.problems] };
  const { tools, workflows, portable } = code;
  const version = await torenVersion();
  try {
    const defined = defineAgent({
      yaml,
      tools,
      workflows,
      prompts,
      env: options.env,
      code: portable,
      torenVersion: version,
      schemaProblem,
    });
    return defined.ok
      ? { name, inputs, agent: defined.agent, problems: [] }
      : { name, inputs, agent: null, problems: defined.problems };
  } catch (thrown) {
    // An export can throw when it is looked at (a getter, a proxy): the other agents are served all the same.
    const message = `what its modules export can't be read: ${messageOf(thrown)}`;
    const file = tools?.file ?? displayPath(folder);
    return { name, inputs, agent: null, problems: [{ code: "agent.invalid", agent: name, file, line: null, message }] };
  }
}

/** What a provider would refuse of a role's `options` is told here, before any question is asked. */
function optionsChecked(yaml: AgentFile, agent: string, env: LoadOptions["env"]): AgentFile {
  const problems = (yaml.config?.roles ?? []).flatMap((role): LoadProblem[] => {
    const { name, model = "", options = {}, maxTokens = MAX_TOKENS_DEFAULT, path } = role;
    const problem = checkOptions(model, options, maxTokens, env);
    const line = yaml.lineOf([...path, "options"]);
    const message = `role "${name}": ${problem}`;
    return problem === null ? [] : [{ code: "agent.invalid", agent, file: yaml.file, line, message }];
  });
  return { ...yaml, problems: [...yaml.problems, ...problems] };
}

type Code = { readonly inputs: readonly string[] } & (
  | {
      readonly ok: true;
      readonly tools: LoadedModule | null;
      readonly workflows: ReadonlyMap<string, LoadedModule>;
      readonly portable: string;
    }
  | { readonly ok: false; readonly problems: readonly LoadProblem[] }
);

/** tools.ts and workflows/*.ts, as one bundle: what they share is one module to both. */
async function loadCode(folder: string, agent: string, cacheFolder: string): Promise<Code> {
  const files = await moduleFiles(folder);
  const inputs = files.map((file) => join(folder, file));
  if (files.length === 0) return { ok: true, tools: null, workflows: new Map(), portable: "", inputs };
  const exportName = (i: number): string => `module${i}`;
  const blamed = (problems: readonly { file: string; line: number | null; message: string }[]): Code => ({
    ok: false,
    inputs,
    problems: problems.map(({ file, line, message }) => ({
      code: "agent.invalid",
      agent,
      file: displayPath(file),
      line,
      message,
    })),
  });
  const cache = resolve(cacheFolder);
  const bundled = await bundleModules(folder, new Map(files.map((file, i) => [exportName(i), file])), cache);
  if (!bundled.ok) return blamed(bundled.problems);
  const imported = await importBundle(agent, bundled.bundle, folder, cache);
  if (!imported.ok) return blamed([imported.problem]);
  const modules = await Promise.all(
    files.map((file, i) => loadedModule(join(folder, file), imported.exports[exportName(i)] ?? {})),
  );
  const workflows = files.flatMap((file, i) =>
    file === TOOLS ? [] : [[basename(file, ".ts"), modules[i] as LoadedModule] as const],
  );
  const tools = modules[files.indexOf(TOOLS)] ?? null;
  return {
    ok: true,
    tools,
    workflows: new Map(workflows),
    portable: bundled.bundle.portable,
    inputs: bundled.bundle.inputs,
  };
}

const TOOLS = "tools.ts";

/** An agent's modules, from its folder, in the order in which they make its code's hash. */
export async function moduleFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((): string[] => []);
  const workflows = await readdir(join(folder, "workflows")).catch((): string[] => []);
  const processes = workflows.filter((name) => name.endsWith(".ts") && !/\.(?:test|d)\.ts$/.test(name)).sort();
  return [...(names.includes(TOOLS) ? [TOOLS] : []), ...processes.map((name) => `workflows/${name}`)];
}

async function loadedModule(path: string, exports: Readonly<Record<string, unknown>>): Promise<LoadedModule> {
  const lines = (await readFile(path, "utf8").catch(() => "")).split("\n");
  return {
    file: displayPath(path),
    exports,
    lineOf: (exported) => {
      const line = lines.findIndex((text) => /\bexport\b/.test(text) && text.split(/[^\w$]+/).includes(exported));
      return line < 0 ? null : line + 1;
    },
  };
}

const promptPaths = (yaml: AgentFile): string[] =>
  (yaml.config?.roles ?? []).flatMap(({ system }) => ("file" in system ? [system.file] : []));

/** Prompt files by the path that agent.yaml gives; what can't be read is missing. */
export async function readPrompts(yaml: AgentFile, folder: string): Promise<Map<string, string>> {
  const prompts = new Map<string, string>();
  const home = await realpath(folder);
  for (const path of promptPaths(yaml)) {
    // A link out of the folder would read what isn't the agent's: it counts as a file that isn't there.
    const real = await realpath(join(folder, path)).catch(() => "");
    const decoded = real.startsWith(home + sep) ? await readFile(real).then(decodeUnicode, () => null) : null;
    if (decoded?.ok === true) prompts.set(path, decoded.text);
  }
  return prompts;
}

let version: Promise<string> | undefined;
/** Of package.json: part of the code's hash. */
export function torenVersion(): Promise<string> {
  version ??= readFile(new URL("../../package.json", import.meta.url), "utf8").then((text) =>
    String((JSON.parse(text) as { version: unknown }).version),
  );
  return version;
}
