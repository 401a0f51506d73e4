// From what was read of an agent's folder to the definition that a worker runs. Pure: a laptop's loader and a bundle's manifest come here alike.

import { suggestion } from "../core/closest.ts";
import { hash } from "../core/digest.ts";
import { canonical, type Json, toJson, utf8Bytes } from "../core/json.ts";
import { MAX_STEPS_DEFAULT, MAX_TOKENS_DEFAULT, SYSTEM_PROMPT_MAX_BYTES } from "../core/limits.ts";
import type { ModelSettings } from "../core/model-settings.ts";
import type { AgentDefinition, ProcessDefinition, RoleDefinition, ToolDefinition } from "../ports/agents.ts";
import { type AgentConfig, MAIN_PROCESS, type ModelYaml, NAME, NAME_RULE, type RoleConfig } from "./agent-schema.ts";
import type { AgentFile } from "./agent-yaml.ts";
import { BUILTINS } from "./builtins.ts";
import type { LoadProblem } from "./problem.ts";
import { isRedaction, redactionOf } from "./redaction.ts";
import { isTool, NAME_OF_TOOL, ownName, toolDefinition } from "./tool.ts";
import { inputParser, isWorkflow } from "./workflow.ts";
import type { YamlPath } from "./yaml-lines.ts";

/** A module of the author's, loaded. */
export interface LoadedModule {
  /** As problems are to call it. */
  readonly file: string;
  readonly exports: Readonly<Record<string, unknown>>;
  /** Where the source exports a name; null or left out: not known. */
  lineOf?(exported: string): number | null;
}

export interface AgentParts {
  readonly yaml: AgentFile;
  /** Null: there is no tools.ts. */
  readonly tools: LoadedModule | null;
  /** By process: workflows/<process>.ts. */
  readonly workflows: ReadonlyMap<string, LoadedModule>;
  /** Prompt files by the path that agent.yaml gives; what couldn't be read is missing. */
  readonly prompts: ReadonlyMap<string, string>;
  /** Where the values of agent.yaml's `env` come from. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The modules' code without comments and places, so that equal code hashes alike everywhere. */
  readonly code: string;
  readonly torenVersion: string;
  /** What is wrong with an outputSchema; left out: it was looked at before, as a bundle's build does. The validator is a third of a small bundle. */
  schemaProblem?(schema: Json): string | null;
}

export type DefinedAgent =
  | { readonly ok: true; readonly agent: AgentDefinition }
  | { readonly ok: false; readonly problems: readonly LoadProblem[] };

type Complain = (file: string, line: number | null, message: string) => void;

/** The agent, or everything that is wrong with it, agent.yaml's own problems included. */
export function defineAgent(parts: AgentParts): DefinedAgent {
  const { yaml } = parts;
  const problems: LoadProblem[] = [...yaml.problems];
  const { config } = yaml;
  if (config === null) return { ok: false, problems };
  const complain: Complain = (file, line, message) =>
    problems.push({ code: "agent.invalid", agent: config.name, file, line, message });
  const inYaml = (path: YamlPath, message: string): void => complain(yaml.file, yaml.lineOf(path), message);

  const tools = toolsOf(parts.tools, complain);
  const redact = redactOf(parts.tools, complain);
  const roles = new Map(config.roles.map((role) => [role.name, defineRole(role, tools, parts, inYaml)]));
  const processes = processesOf(config, parts.workflows, complain, inYaml);
  const env = envOf(config, parts.env, inYaml);
  if (problems.length > 0) return { ok: false, problems };
  const { name, description } = config;
  const codeHash = codeHashOf(config, parts);
  const models = new Map(Object.entries(config.models).map(([model, said]) => [model, settingsOf(said)]));
  const kept = config.retention === undefined ? {} : { retentionMs: config.retention };
  const limits = limitsOf(config);
  const more = { ...kept, ...(redact === undefined ? {} : { redact }) };
  return { ok: true, agent: { name, description, codeHash, roles, processes, env, models, limits, ...more } };
}

/** The same agent with every role on one model: what `--model` asks for. Another model is another code to a run, so the hash differs too. */
export function withModel(agent: AgentDefinition, model: string): AgentDefinition {
  const roles = new Map([...agent.roles].map(([name, role]) => [name, { ...role, model }]));
  return { ...agent, roles, codeHash: hash(canonical([agent.codeHash, model])) };
}

/** Prompts are the same text on every system: no byte order mark, LF, nothing at the end. */
const normalizePrompt = (text: string): string =>
  text
    .replace(/^\uFEFF/, "")
    .replace(/\r\n?/g, "\n")
    .trimEnd();

function codeHashOf(config: AgentConfig, { prompts, code, torenVersion }: AgentParts): string {
  const texts = [...prompts].map(([path, text]) => [path, normalizePrompt(text)]).sort();
  const roles = Object.fromEntries(config.roles.map((role) => [role.name, { ...role, path: undefined }]));
  const processes = Object.fromEntries(config.processes.map(({ name, role }) => [name, role]));
  return hash(canonical(toJson([{ ...config, roles, processes }, texts, code, torenVersion])));
}

function toolsOf(module: LoadedModule | null, complain: Complain): ReadonlyMap<string, ToolDefinition> {
  const tools = new Map(BUILTINS);
  for (const [exported, value] of Object.entries(module?.exports ?? {})) {
    if (module === null || !isTool(value)) continue;
    const name = ownName(value) ?? exported;
    const wrong = (message: string): void => complain(module.file, module.lineOf?.(exported) ?? null, message);
    if (name === "default") wrong("a tool is exported by default without a name: export it by name, or give it one");
    else if (!NAME_OF_TOOL.test(name)) wrong(`tool "${name}": a name has letters, digits, _ and -, at most 64`);
    else if (BUILTINS.has(name)) wrong(`tool "${name}" has the name of a builtin: give it another`);
    else if (tools.has(name)) wrong(`two tools have the name "${name}": give one another`);
    else tools.set(name, toolDefinition(value, name));
  }
  return tools;
}

/** Two would have to be put in an order; one under two names is one. */
function redactOf(module: LoadedModule | null, complain: Complain): AgentDefinition["redact"] {
  const found = Object.entries(module?.exports ?? {}).filter(([, value]) => isRedaction(value));
  const [first] = found;
  const second = found.find(([, value]) => value !== first?.[1]);
  if (module !== null && second !== undefined)
    complain(module.file, module.lineOf?.(second[0]) ?? null, "two redactions are exported: make one of them");
  return isRedaction(first?.[1]) ? redactionOf(first[1]) : undefined;
}

function defineRole(
  config: RoleConfig,
  tools: ReadonlyMap<string, ToolDefinition>,
  { prompts, schemaProblem }: Pick<AgentParts, "prompts" | "schemaProblem">,
  complain: (path: YamlPath, message: string) => void,
): RoleDefinition {
  const { name, outputSchema } = config;
  const at = (key: string): YamlPath => [...config.path, key];
  if (outputSchema !== undefined) {
    const problem = schemaProblem?.(outputSchema) ?? null;
    if (problem !== null)
      complain(at("outputSchema"), `outputSchema of role "${name}" is no JSON Schema (draft 2020-12): ${problem}`);
  }
  return {
    name,
    model: config.model ?? "",
    system: systemOf(config, prompts, (message) => complain(at("system"), message)),
    tools: roleTools(config, tools, (i, message) => complain([...at("tools"), i], message)),
    options: config.options ?? {},
    maxTokens: config.maxTokens ?? MAX_TOKENS_DEFAULT,
    maxSteps: config.maxSteps ?? MAX_STEPS_DEFAULT,
    totalTokens: config.totalTokens ?? null,
    maxCostUsd: config.maxCostUsd ?? null,
    contextWindow: config.contextWindow ?? null,
    outputSchema: outputSchema ?? null,
    onUnknownOutcome: config.onUnknownOutcome ?? "retry",
    approvalTimeoutMs: config.approvalTimeout ?? null,
    ...(config.isolate === true ? { lane: "solo" } : config.runtime === "long" ? { lane: "long" } : {}),
  };
}

/** Who says nothing about the cache pays for all of the input. */
const settingsOf = ({ price, ...said }: ModelYaml): ModelSettings => ({
  maxInFlight: said.maxInFlight ?? null,
  tokensPerMinute: said.tokensPerMinute ?? null,
  contextWindow: said.contextWindow ?? null,
  maxOutput: said.maxOutput ?? null,
  price:
    price === undefined
      ? null
      : {
          input: price.input,
          output: price.output,
          cacheRead: price.cacheRead ?? price.input,
          cacheWrite: price.cacheWrite ?? price.input,
          simulated: false,
        },
});

const limitsOf = ({ limits }: AgentConfig): AgentDefinition["limits"] => ({
  maxParallel: limits.maxParallel ?? null,
  maxCostUsd: limits.maxCostUsd ?? null,
  totalTokens: limits.totalTokens ?? null,
});

function systemOf(
  { name, system }: RoleConfig,
  prompts: ReadonlyMap<string, string>,
  complain: (message: string) => void,
): string {
  const text = "text" in system ? system.text : prompts.get(system.file);
  if (text === undefined) {
    complain(
      `role "${name}": there is no file ${"file" in system ? system.file : ""} that can be read in the agent's folder`,
    );
    return "";
  }
  const prompt = normalizePrompt(text);
  if (prompt.trim() === "") complain(`role "${name}" has an empty system prompt: say what it is to do`);
  const bytes = utf8Bytes(prompt);
  if (bytes > SYSTEM_PROMPT_MAX_BYTES)
    complain(`role "${name}": its system prompt has ${bytes} bytes; at most ${SYSTEM_PROMPT_MAX_BYTES} are allowed`);
  return prompt;
}

function roleTools(
  config: RoleConfig,
  tools: ReadonlyMap<string, ToolDefinition>,
  complain: (i: number, message: string) => void,
): ToolDefinition[] {
  const wanted = config.tools ?? [];
  return wanted.flatMap((name, i) => {
    const tool = tools.get(name);
    if (wanted.indexOf(name) < i) complain(i, `role "${config.name}" names the tool "${name}" twice`);
    else if (tool === undefined && name.startsWith("mcp."))
      return []; // agent-yaml.ts says so
    else if (tool === undefined)
      complain(i, `role "${config.name}": there is no tool "${name}"${suggestion(name, [...tools.keys()])}`);
    else return [tool];
    return [];
  });
}

function processesOf(
  config: AgentConfig,
  workflows: ReadonlyMap<string, LoadedModule>,
  complain: Complain,
  inYaml: (path: YamlPath, message: string) => void,
): ReadonlyMap<string, ProcessDefinition> {
  const processes = new Map<string, ProcessDefinition>();
  for (const { name, role, mode } of config.processes)
    processes.set(name, { kind: mode === "session" ? "session" : "role", role });
  for (const [name, module] of workflows) {
    const { file } = module;
    const workflow = module.exports.default;
    if (!NAME.test(name))
      complain(
        file,
        null,
        `process "${name}": the file's name must be ${NAME_RULE} (helpers go into a folder of their own)`,
      );
    else if (processes.has(name))
      inYaml(["processes", name], `process "${name}" is also a workflow (${file}): keep one of them`);
    else if (!isWorkflow(workflow))
      complain(
        file,
        module.lineOf?.("default") ?? null,
        "must have a default export made by defineWorkflow: export default defineWorkflow(async (ctx) => …)",
      );
    else processes.set(name, { kind: "workflow", run: workflow, parseInput: inputParser(workflow) });
  }
  const only = config.roles.length === 1 ? config.roles[0] : undefined;
  if (!processes.has(MAIN_PROCESS) && only !== undefined)
    processes.set(MAIN_PROCESS, { kind: config.mode === "session" ? "session" : "role", role: only.name });
  if (processes.size === 0 && workflows.size === 0) inYaml([], noProcess(config));
  return processes;
}

const noProcess = ({ roles }: AgentConfig): string =>
  roles.length === 0
    ? "the agent has neither a role nor a workflow: give it a system prompt, or roles, or workflows/main.ts"
    : "an agent with several roles needs workflows/main.ts, or processes that each name a role";

function envOf(
  config: AgentConfig,
  values: Readonly<Record<string, string | undefined>>,
  complain: (path: YamlPath, message: string) => void,
): Readonly<Record<string, string>> {
  const env: Record<string, string> = {};
  config.env.forEach((name, i) => {
    const value = values[name];
    if (value === undefined)
      complain(
        ["env", i],
        `the environment variable ${name} is not set: set it where Toren starts, or take it from env`,
      );
    else env[name] = value;
  });
  return Object.freeze(env);
}
