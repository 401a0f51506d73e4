// A text of agent.yaml: what it says, and everything that is wrong with it, each with its line. Pure: the loader does the reading.
import type * as z from "zod";
import { suggestion } from "../core/closest.ts";
import { issueWords, pathText } from "../core/issue-words.ts";
import {
  type AgentConfig,
  type AgentYaml,
  agentYaml,
  LIMITS_KEYS,
  MODEL_KEYS,
  MODEL_NAME,
  MODEL_NAME_RULE,
  NAME,
  NAME_RULE,
  ONLY_ROLE,
  PRICE_KEYS,
  ROLE_KEYS,
  type RoleConfig,
  type RoleYaml,
} from "./agent-schema.ts";
import type { LoadProblem } from "./problem.ts";
import { readYaml, type YamlPath, type YamlText } from "./yaml-lines.ts";

/** Keys that the product knows, but this version doesn't. */
const LATER = new Set(["mcp"]);

export interface AgentFile {
  /** Null when the problems leave nothing to go on with. */
  readonly config: AgentConfig | null;
  readonly problems: readonly LoadProblem[];
  readonly file: string;
  lineOf(path: YamlPath): number;
}

/** `agent` is the folder's name, `file` what problems are to call the text. */
export function parseAgentYaml(source: string, file: string, agent: string): AgentFile {
  const invalid = (line: number | null, message: string): LoadProblem => ({
    code: "agent.invalid",
    agent,
    file,
    line,
    message,
  });
  const read = readYaml(source);
  if (!read.ok) {
    return { config: null, problems: read.problems.map((p) => invalid(p.line, p.message)), file, lineOf: () => 1 };
  }
  const { value, lineOf } = read.yaml;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const what = value === null ? "the file is empty" : "the file must be an object of keys";
    return {
      config: null,
      problems: [invalid(null, `${what}: write at least name, description and system`)],
      file,
      lineOf,
    };
  }
  const checked = check(value, read.yaml);
  const parsed = checked.data;
  const found = [
    ...checked.problems,
    ...lostNames(value),
    ...(parsed === undefined ? [] : contradictions(parsed, agent)),
  ];
  const problems = found.map(
    ({ code, path, message }): LoadProblem => ({ code, agent, file, line: lineOf(path), message }),
  );
  problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  return { config: parsed === undefined ? null : toConfig(parsed), problems, file, lineOf };
}

interface Found {
  readonly code: LoadProblem["code"];
  readonly path: YamlPath;
  readonly message: string;
}
const invalidAt = (path: YamlPath, message: string): Found => ({ code: "agent.invalid", path, message });

/** Unknown keys are reported, then left out, so that the rest of the file is looked at too. */
function check(
  value: object,
  yaml: YamlText,
): { readonly data: AgentYaml | undefined; readonly problems: readonly Found[] } {
  const first = agentYaml.safeParse(value, { error: issueWords });
  if (first.success) return { data: first.data, problems: [] };
  const problems = first.error.issues.flatMap(found);
  if (first.error.issues.some((issue) => issue.code !== "unrecognized_keys")) return { data: undefined, problems };
  const known = structuredClone(yaml.value);
  for (const issue of first.error.issues) {
    if (issue.code !== "unrecognized_keys") continue;
    const owner = at(known, issue.path) as Record<string, unknown>;
    for (const key of issue.keys) delete owner[key];
  }
  return { data: agentYaml.safeParse(known, { error: issueWords }).data, problems };
}

const at = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((part, key) => (part as Record<PropertyKey, unknown> | undefined)?.[key], value);

function found(issue: z.core.$ZodIssue): Found[] {
  const path = issue.path as YamlPath;
  const name = pathText(path);
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => unknownKey(path, key));
  return [invalidAt(path, `${name} ${issue.message}`)];
}

function unknownKey(path: YamlPath, key: string): Found {
  const full = pathText([...path, key]);
  if (LATER.has(key)) {
    return {
      code: "not_in_this_version",
      path: [...path, key],
      message: `${full} is not in this version: remove the key`,
    };
  }
  if (path.length === 0 && LIMITS_KEYS.includes(key))
    return invalidAt([key], `${key} stands at the top level, where it bounds nothing: move it into limits`);
  const where = path.length === 0 ? "" : ` in ${pathText(path)}`;
  return invalidAt([...path, key], `unknown key "${key}"${where}${suggestion(key, keysAt(path))}`);
}

function keysAt(path: YamlPath): readonly string[] {
  if (path.length === 0) return Object.keys(agentYaml.shape);
  if (path[0] === "defaults") return ["model", "maxTokens"];
  if (path[0] === "processes") return ["role", "mode"];
  if (path[0] === "limits") return LIMITS_KEYS;
  if (path[0] === "models") return path.at(-1) === "price" ? PRICE_KEYS : MODEL_KEYS;
  return path.at(-1) === "system" ? ["file"] : ROLE_KEYS;
}

const badModelName = (name: string): Found =>
  invalidAt(["models", name], `models: the name "${name}" ${MODEL_NAME_RULE}`);

/** The one name that a schema of records passes over in silence. */
const lostNames = (value: object): Found[] =>
  (["roles", "processes", "models"] as const).flatMap((key) => {
    const named: unknown = (value as Record<string, unknown>)[key];
    if (typeof named !== "object" || named === null || !Object.hasOwn(named, "__proto__")) return [];
    if (key === "models") return [badModelName("__proto__")];
    const what = key === "roles" ? "role" : "process";
    return [invalidAt([key, "__proto__"], `${what} "__proto__": a name must be ${NAME_RULE}`)];
  });

/** What is wrong although every part is right by itself. */
function contradictions(yaml: AgentYaml, folder: string): Found[] {
  const problems: Found[] = [];
  if (yaml.name !== folder)
    problems.push(invalidAt(["name"], `name is "${yaml.name}", the folder is "${folder}": make them equal`));
  const roles = Object.keys(yaml.roles ?? {});
  const atTop = ROLE_KEYS.filter((key) => key in yaml);
  if (yaml.roles !== undefined) {
    if (roles.length === 0)
      problems.push(invalidAt(["roles"], "roles is empty: name at least one, or leave the key out"));
    for (const key of atTop) {
      const home = key === "model" || key === "maxTokens" ? "into a role, or into defaults" : "into a role";
      problems.push(invalidAt([key], `${key} stands beside roles, where it belongs to none: move it ${home}`));
    }
  } else if (atTop.length > 0 && yaml.system === undefined) {
    problems.push(
      invalidAt([atTop[0] ?? "name"], "system is missing: write the prompt, or { file: prompts/<name>.md }"),
    );
  }
  for (const name of Object.keys(yaml.models ?? {})) if (!MODEL_NAME.test(name)) problems.push(badModelName(name));
  for (const name of roles)
    if (!NAME.test(name)) problems.push(invalidAt(["roles", name], `role "${name}": a name must be ${NAME_RULE}`));
  return [...problems, ...processProblems(yaml), ...modelProblems(yaml), ...laterTools(yaml)];
}

function laterTools(yaml: AgentYaml): Found[] {
  return roleEntries(yaml).flatMap(({ path, tools = [] }) =>
    tools.flatMap((tool, i): Found[] => {
      if (!tool.startsWith("mcp.")) return [];
      const message = `${tool}: tools of MCP servers are not in this version: remove it`;
      return [{ code: "not_in_this_version", path: [...path, "tools", i], message }];
    }),
  );
}

function processProblems(yaml: AgentYaml): Found[] {
  const roles = roleEntries(yaml).map((role) => role.name);
  return Object.entries(yaml.processes ?? {}).flatMap(([name, { role }]) => [
    ...(NAME.test(name) ? [] : [invalidAt(["processes", name], `process "${name}": a name must be ${NAME_RULE}`)]),
    ...(roles.includes(role)
      ? []
      : [
          invalidAt(
            ["processes", name, "role"],
            `processes.${name}: there is no role "${role}"${suggestion(role, roles)}`,
          ),
        ]),
  ]);
}

const modelProblems = (yaml: AgentYaml): Found[] =>
  roleEntries(yaml)
    .filter((role) => role.model === undefined)
    .map(({ name, path }) =>
      invalidAt(
        path.length === 0 ? ["system"] : path,
        `role "${name}" has no model: give it one, or set defaults.model for all`,
      ),
    );

/** Roles with the file's defaults. Those without a prompt have been complained about. */
function roleEntries(yaml: AgentYaml): RoleConfig[] {
  const config = (name: string, path: YamlPath, { system, ...role }: RoleYaml): RoleConfig => ({
    ...yaml.defaults,
    ...role,
    name,
    path,
    system: typeof system === "string" ? { text: system } : system,
  });
  if (yaml.roles !== undefined)
    return Object.entries(yaml.roles).map(([name, role]) => config(name, ["roles", name], role));
  const {
    name: _,
    description: __,
    env: ___,
    defaults: ____,
    roles: _____,
    processes: ______,
    mode: _______,
    models: ________,
    limits: _________,
    retention: __________,
    system,
    ...keys
  } = yaml;
  return system === undefined ? [] : [config(ONLY_ROLE, [], { system, ...keys })];
}

function toConfig(yaml: AgentYaml): AgentConfig {
  return {
    name: yaml.name,
    description: yaml.description,
    env: yaml.env ?? [],
    roles: roleEntries(yaml),
    processes: Object.entries(yaml.processes ?? {}).map(([name, { role, mode }]) => ({
      name,
      role,
      mode: mode ?? "task",
    })),
    mode: yaml.mode ?? "task",
    models: yaml.models ?? {},
    limits: yaml.limits ?? {},
    ...(yaml.retention === undefined ? {} : { retention: yaml.retention }),
  };
}
