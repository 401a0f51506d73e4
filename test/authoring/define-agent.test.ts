import { describe, expect, test } from "@jest/globals";
import * as z from "zod";
import { parseAgentYaml } from "../../shared/authoring/agent-yaml.ts";
import {
  type AgentParts,
  type DefinedAgent,
  defineAgent,
  type LoadedModule,
  withModel,
} from "../../shared/authoring/define-agent.ts";
import { defineTool, defineWorkflow } from "../../shared/authoring/index.ts";
import { problemText } from "../../shared/authoring/problem.ts";
import { SYSTEM_PROMPT_MAX_BYTES } from "../../shared/core/limits.ts";
import { schemaProblem } from "../../shared/core/task/output.ts";
import type { AgentDefinition } from "../../shared/ports/agents.ts";

const HEAD = "name: crew\ndescription: Works.\ndefaults: { model: mock/script }\n";
const ONE = `${HEAD}system: Answer.\n`;

function define(text: string, parts: Partial<Omit<AgentParts, "yaml">> = {}): DefinedAgent {
  const yaml = parseAgentYaml(text, "agent.yaml", "crew");
  return defineAgent({
    tools: null,
    workflows: new Map(),
    prompts: new Map(),
    env: {},
    code: "",
    torenVersion: "1.0.0",
    schemaProblem,
    ...parts,
    yaml,
  });
}
function agentOf(defined: DefinedAgent): AgentDefinition {
  if (!defined.ok) throw new Error(defined.problems.map(problemText).join("\n"));
  return defined.agent;
}
const problems = (defined: DefinedAgent): string[] => (defined.ok ? [] : defined.problems.map(problemText));

const tool = (name?: string) =>
  defineTool({
    ...(name === undefined ? {} : { name }),
    description: "Does.",
    input: z.object({}),
    effects: "none",
    idempotency: "none",
    approval: "never",
    handler: () => null,
  });
const tools = (exports: Record<string, unknown>) => ({
  file: "tools.ts",
  exports,
  lineOf: (name: string) => (name === "lookup" ? 7 : null),
});
const workflow = (exports: Record<string, unknown>) => ({ file: "workflows/main.ts", exports });

describe("an agent's definition", () => {
  test("says what its author says about models and bounds; who is silent about the cache pays for all of the input", () => {
    const agent = agentOf(
      define(`${ONE}models:
  mock/script: { maxInFlight: 3 }
  openai/own: { price: { input: 2, output: 8, cacheRead: 0.5 } }
limits: { maxParallel: 8 }
`),
    );
    const silent = { maxInFlight: null, tokensPerMinute: null, contextWindow: null, maxOutput: null, price: null };
    const price = { input: 2, output: 8, cacheRead: 0.5, cacheWrite: 2, simulated: false };
    expect([...agent.models]).toEqual([
      ["mock/script", { ...silent, maxInFlight: 3 }],
      ["openai/own", { ...silent, price }],
    ]);
    expect(agent.limits).toEqual({ maxParallel: 8, maxCostUsd: null, totalTokens: null });
    expect(agent.codeHash).not.toBe(agentOf(define(ONE)).codeHash);
    expect(agentOf(define(ONE)).limits.maxParallel).toBeNull();
  });

  test("has defaults where agent.yaml is silent", () => {
    const agent = agentOf(define(ONE));
    expect(agent.roles.get("main")).toEqual({
      name: "main",
      model: "mock/script",
      system: "Answer.",
      tools: [],
      options: {},
      maxTokens: 8_192,
      maxSteps: 50,
      totalTokens: null,
      maxCostUsd: null,
      contextWindow: null,
      outputSchema: null,
      onUnknownOutcome: "retry",
      approvalTimeoutMs: null,
    });
    expect([...agent.processes]).toEqual([["main", { kind: "role", role: "main" }]]);
    expect(agent.env).toEqual({});
  });

  test("gives roles builtins and exports of tools.ts, in the order of agent.yaml", () => {
    const defined = define(`${ONE}tools: [second, read_file, first]\n`, {
      tools: tools({ first: tool(), b: tool("second"), LIMIT: 5, default: null }),
    });
    expect(
      agentOf(defined)
        .roles.get("main")
        ?.tools.map(({ name }) => name),
    ).toEqual(["second", "read_file", "first"]);
  });

  test("main is workflows/main.ts, or the only role; processes name more", () => {
    const run = defineWorkflow(async () => null);
    const workflows = new Map([["main", workflow({ default: run })]]);
    const two = `${HEAD}roles:\n  a: { system: x }\n  b: { system: y }\n`;
    expect([...agentOf(define(two, { workflows })).processes.keys()]).toEqual(["main"]);
    expect(agentOf(define(two, { workflows })).processes.get("main")).toMatchObject({ kind: "workflow", run });
    expect(agentOf(define(`${ONE}processes: { long: { role: main } }\n`)).processes.get("main")).toEqual({
      kind: "role",
      role: "main",
    });
    expect(agentOf(define(ONE, { workflows: new Map([["nightly", workflow({ default: run })]]) })).processes.size).toBe(
      2,
    );
    expect([...agentOf(define(`${two}processes: { b: { role: b } }\n`)).processes]).toEqual([
      ["b", { kind: "role", role: "b" }],
    ]);
    expect(agentOf(define(HEAD, { workflows })).roles.size).toBe(0);
  });

  test("prompts are the same text on every system", () => {
    const text = `${HEAD}system: { file: prompts/a.md }\n`;
    const prompt = (content: string) => agentOf(define(text, { prompts: new Map([["prompts/a.md", content]]) }));
    expect(prompt("\uFEFFOne.\r\nTwo.\r\n\r\n").roles.get("main")?.system).toBe("One.\nTwo.");
    expect(prompt("One.\r\nTwo.\r\n").codeHash).toBe(prompt("One.\nTwo.").codeHash);
    expect(prompt("One.").codeHash).not.toBe(prompt("Two.").codeHash);
  });

  test("a prompt over the limit is refused with its size and the limit", () => {
    const size = SYSTEM_PROMPT_MAX_BYTES;
    const whole = (text: string) => define(`${HEAD}system: { file: p.md }\n`, { prompts: new Map([["p.md", text]]) });
    expect(whole("x".repeat(size)).ok).toBe(true);
    const defined = whole("x".repeat(size + 1));
    expect(defined.ok ? [] : defined.problems.map((p) => p.message)).toEqual([
      `role "main": its system prompt has ${size + 1} bytes; at most ${size} are allowed`,
    ]);
  });

  test("env holds what agent.yaml names, nothing else", () => {
    const agent = agentOf(define(`${ONE}env: [A, B]\n`, { env: { A: "1", B: "", SECRET: "2" } }));
    expect(agent.env).toEqual({ A: "1", B: "" });
  });

  test("its code hash follows meaning: not comments, order of keys or where it is; but models, code and Toren's version", () => {
    const hash = (text: string, parts?: Partial<AgentParts>) => agentOf(define(text, parts)).codeHash;
    const a = `${HEAD}roles:\n  a: { system: x, maxSteps: 3 }\n  b: { system: y }\nprocesses: { p: { role: a }, q: { role: b } }\n`;
    const b = `# the same\ndefaults:\n  model: mock/script\n\ndescription: Works.\nname: crew\nprocesses: { q: { role: b }, p: { role: a } }\nroles:\n  b: { system: y }\n  a: { maxSteps: 3, system: x }\n`;
    expect(hash(b)).toBe(hash(a));
    expect(hash(a.replace("system: x", "system: z"))).not.toBe(hash(a));
    expect(hash(a, { code: "other" })).not.toBe(hash(a));
    expect(hash(a, { torenVersion: "1.0.1" })).not.toBe(hash(a));
  });

  test("withModel puts every role on one model, under a hash of its own", () => {
    const agent = agentOf(
      define(
        `${HEAD}roles:\n  a: { system: x }\n  b: { system: y, model: openai/gpt-5 }\nprocesses: { p: { role: a } }\n`,
      ),
    );
    const other = withModel(agent, "openai/demo");
    expect([...other.roles.values()].map(({ model }) => model)).toEqual(["openai/demo", "openai/demo"]);
    expect(other.codeHash).not.toBe(agent.codeHash);
    expect(withModel(agent, "openai/demo").codeHash).toBe(other.codeHash);
    expect(agent.roles.get("b")?.model).toBe("openai/gpt-5");
  });
});

describe("what is wrong is said with file and line, everything at once", () => {
  test("over all parts of an agent", () => {
    const text = `${HEAD}env: [MISSING]
roles:
  a:
    system: { file: prompts/none.md }
    tools:
      - read_fil
      - read_file
      - read_file
  b:
    system: { file: prompts/blank.md }
    outputSchema: { type: objekt }
processes:
  main: { role: a }
  long: { role: b }
mcp: {}
`;
    const defined = define(text, {
      tools: tools({ lookup: tool("read_file"), same: tool("twin"), other: tool("twin"), default: tool() }),
      workflows: new Map<string, LoadedModule>([
        ["main", workflow({ default: defineWorkflow(async () => null) })],
        ["Nightly", { file: "workflows/Nightly.ts", exports: { default: defineWorkflow(async () => null) } }],
        ["plain", { file: "workflows/plain.ts", exports: { default: async () => null }, lineOf: () => 2 }],
        ["none", { file: "workflows/none.ts", exports: {} }],
      ]),
      prompts: new Map([["prompts/blank.md", " \n"]]),
    });
    expect(problems(defined)).toEqual([
      "agent.yaml:18: mcp is not in this version: remove the key",
      'tools.ts:7: tool "read_file" has the name of a builtin: give it another',
      'tools.ts: two tools have the name "twin": give one another',
      "tools.ts: a tool is exported by default without a name: export it by name, or give it one",
      'agent.yaml:7: role "a": there is no file prompts/none.md that can be read in the agent\'s folder',
      'agent.yaml:9: role "a": there is no tool "read_fil"; did you mean "read_file"?',
      'agent.yaml:11: role "a" names the tool "read_file" twice',
      expect.stringMatching(/^agent\.yaml:14: outputSchema of role "b" is no JSON Schema \(draft 2020-12\): /),
      'agent.yaml:13: role "b" has an empty system prompt: say what it is to do',
      'agent.yaml:16: process "main" is also a workflow (workflows/main.ts): keep one of them',
      expect.stringMatching(/^workflows\/Nightly\.ts: process "Nightly": the file's name must be /),
      "workflows/plain.ts:2: must have a default export made by defineWorkflow: export default defineWorkflow(async (ctx) => …)",
      "workflows/none.ts: must have a default export made by defineWorkflow: export default defineWorkflow(async (ctx) => …)",
      "agent.yaml:4: the environment variable MISSING is not set: set it where Toren starts, or take it from env",
    ]);
  });

  test("an agent that can do nothing", () => {
    expect(problems(define(HEAD))).toEqual([
      "agent.yaml:1: the agent has neither a role nor a workflow: give it a system prompt, or roles, or workflows/main.ts",
    ]);
    expect(problems(define(`${HEAD}roles:\n  a: { system: x }\n  b: { system: y }\n`))).toEqual([
      "agent.yaml:1: an agent with several roles needs workflows/main.ts, or processes that each name a role",
    ]);
  });

  test("tools of MCP servers are of a later version", () => {
    const defined = define(`${ONE}tools: [mcp.github]\n`);
    expect(defined).toMatchObject({ ok: false, problems: [{ code: "not_in_this_version", line: 5 }] });
  });
});
