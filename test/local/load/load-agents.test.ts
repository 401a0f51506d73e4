import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { loadAgent, loadAgents } from "../../../local/load/load-agents.ts";
import { problemText } from "../../../shared/authoring/problem.ts";
import type { AgentDefinition, ToolContext } from "../../../shared/ports/agents.ts";
import { type AgentFolder, agentFolder, FIXTURES, YAML } from "./agent-folder.ts";

async function load(folder: AgentFolder, name: string): Promise<AgentDefinition> {
  const { agent, problems } = await loadAgent(join(folder.agents, name), folder.options);
  if (agent === null) throw new Error(problems.map(problemText).join("\n"));
  return agent;
}
async function problems(folder: AgentFolder): Promise<string[]> {
  const loaded = await loadAgents(folder.agents, folder.options);
  return loaded.problems.map((problem) => problemText(problem).replaceAll(`${folder.agents}/`, ""));
}
const desk = { TICKET_DESK_URL: "https://desk.example" };

describe("an agent's folder", () => {
  test("becomes a definition: yaml, prompts, tools and workflows", async () => {
    const { options } = agentFolder(desk);
    const { agents, problems: none } = await loadAgents(FIXTURES, options);
    expect(none).toEqual([]);
    const agent = agents.find(({ name }) => name === "ticket_desk");
    expect([...(agent?.processes.keys() ?? [])].sort()).toEqual(["draft", "main"]);
    expect(agent?.roles.get("sorter")).toMatchObject({
      system: "Say which queue the ticket belongs to.",
      maxSteps: 5,
      totalTokens: 20_000,
      maxTokens: 2_048,
    });
    expect(agent?.roles.get("drafter")).toMatchObject({
      model: "openai/gpt-5-mini",
      onUnknownOutcome: "fail",
      options: { reasoning: { effort: "minimal" } },
    });
    expect(agent?.env).toEqual(desk);
    const [reply] = agent?.roles.get("drafter")?.tools ?? [];
    expect(reply).toMatchObject({
      name: "send-reply",
      effects: "external",
      idempotency: "keyed",
      timeoutMs: 10_000,
      retry: { attempts: 2, backoffMs: 100 },
    });
    const ctx = { env: agent?.env, idempotencyKey: "k1" } as unknown as ToolContext;
    expect(await reply?.handler({ text: "hi" }, ctx)).toBe("https://desk.example k1 hi");
  });

  test("its tools and workflows share modules: a class or counter in one is the same in the other", async () => {
    const folder = agentFolder(desk);
    folder.copy("ticket_desk");
    const agent = await load(folder, "ticket_desk");
    const find = agent.roles.get("sorter")?.tools.find(({ name }) => name === "find_customer");
    await find?.handler({ id: "c-1", deep: false }, undefined as unknown as ToolContext);
    const main = agent.processes.get("main");
    if (main?.kind !== "workflow") throw new Error("main is a workflow");
    const input = main.parseInput({ customerId: "c-2", text: "help" });
    const ctx = {
      input: input.ok ? input.input : null,
      step: (_: string, fn: () => unknown) => fn(),
      ask: async () => ({ queue: "bugs" }),
    };
    expect(await main.run(ctx as never)).toEqual({ queue: "bugs", lookups: 2 });
  });

  test("loads from plain node as well", () => {
    const { options } = agentFolder();
    const program = `
      import { loadAgents } from ${JSON.stringify(join(import.meta.dirname, "../../../local/load/load-agents.ts"))};
      const { agents, problems } = await loadAgents(${JSON.stringify(FIXTURES)}, { env: { TICKET_DESK_URL: "x" }, cacheFolder: ${JSON.stringify(options.cacheFolder)} });
      const tool = agents[0].roles.get("sorter").tools[0];
      console.log(JSON.stringify([problems, agents.map(({ name }) => name), tool.parse({ id: "c1" }), tool.parse({ id: "c-1" })]));`;
    const printed = execFileSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8",
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    expect(JSON.parse(printed)).toEqual([
      [],
      ["ticket_desk"],
      { ok: false, message: "id: must have at least 3 characters" },
      { ok: true, args: { id: "c-1", deep: false } },
    ]);
  });

  test("the example that comes with Toren loads", async () => {
    const { options } = agentFolder();
    const { agents, problems: none } = await loadAgents(join(import.meta.dirname, "../../../agents"), options);
    expect(none).toEqual([]);
    const crew = agents.find(({ name }) => name === "research_crew");
    expect(crew?.roles.get("researcher")?.tools.map(({ name }) => name)).toEqual([
      "list_files",
      "search_files",
      "read_file",
    ]);
    expect(crew?.processes.get("main")?.kind).toBe("workflow");
  });
});

describe("the code hash", () => {
  const shop = (): AgentFolder => {
    const folder = agentFolder(desk);
    folder.copy("ticket_desk");
    return folder;
  };
  const hashOf = async (folder: AgentFolder): Promise<string> => (await load(folder, "ticket_desk")).codeHash;

  test("is the same at every load, in every folder, whatever comments and formatting say", async () => {
    const folder = shop();
    const first = await hashOf(folder);
    expect(await hashOf(folder)).toBe(first);
    expect(await hashOf(shop())).toBe(first);
    folder.write(
      "ticket_desk/lib/customers.ts",
      "let lookups=0; // counted\n\n\nexport function customer(id: string) {\n    lookups += 1\n    return {id, lookups}\n}",
    );
    folder.write("ticket_desk/prompts/sorter.md", "Say which queue the ticket belongs to.\r\n");
    expect(await hashOf(folder)).toBe(first);
  });

  test.each([
    ["a prompt", "prompts/sorter.md", "Say which of our queues the ticket belongs to.\n"],
    ["code that tools import", "lib/customers.ts", "export const customer = (id: string) => ({ id, lookups: 0 });"],
    [
      "a workflow more",
      "workflows/nightly.ts",
      'import { defineWorkflow } from "toren"; export default defineWorkflow(async () => null);',
    ],
  ])("differs after a change of %s", async (_what, path, text) => {
    const folder = shop();
    const first = await hashOf(folder);
    folder.write(`ticket_desk/${path}`, text);
    expect(await hashOf(folder)).not.toBe(first);
  });
});

describe("changed code", () => {
  const workflow = (value: number): string =>
    `import { defineWorkflow } from "toren"; import { base } from "../base.ts"; export default defineWorkflow(async () => base + ${value});`;
  async function result(folder: AgentFolder): Promise<unknown> {
    const main = (await load(folder, "calc")).processes.get("main");
    return main?.kind === "workflow" ? main.run(undefined as never) : null;
  }

  test("is really loaded anew, in imported files too; old bundles don't pile up for ever", async () => {
    const folder = agentFolder();
    folder.write("calc/agent.yaml", YAML("calc"));
    folder.write("calc/base.ts", "export const base = 10;");
    folder.write("calc/workflows/main.ts", workflow(1));
    expect(await result(folder)).toBe(11);
    folder.write("calc/workflows/main.ts", workflow(2));
    expect(await result(folder)).toBe(12);
    folder.write("calc/base.ts", "export const base = 20;");
    expect(await result(folder)).toBe(22);
    expect(readdirSync(folder.options.cacheFolder)).toHaveLength(3);
    expect(readdirSync(folder.options.cacheFolder).every((name) => /^calc-[\w-]+\.mjs$/.test(name))).toBe(true);
  });
});

describe("an author's mistake is named by file and line", () => {
  const withCode = (files: Record<string, string>, yaml = YAML("crew")): AgentFolder => {
    const folder = agentFolder();
    folder.write("crew/agent.yaml", yaml);
    for (const [path, text] of Object.entries(files)) folder.write(`crew/${path}`, text);
    return folder;
  };

  test("a syntax error in a workflow", async () => {
    const folder = withCode({
      "workflows/main.ts":
        'import { defineWorkflow } from "toren";\n\nexport default defineWorkflow(async (ctx) => {\n  return ctx.input +;\n});\n',
    });
    expect(await problems(folder)).toEqual(['crew/workflows/main.ts:4: Unexpected ";"']);
  });

  test("several at once, in several files, beside those of agent.yaml", async () => {
    const folder = withCode(
      { "tools.ts": "export const a = ;\n", "workflows/main.ts": "\nconst x: = 1;\n" },
      YAML("crew", "maxStep: 4\n"),
    );
    expect(await problems(folder)).toEqual([
      'crew/agent.yaml:5: unknown key "maxStep"; did you mean "maxSteps"?',
      'crew/tools.ts:1: Unexpected ";"',
      expect.stringMatching(/^crew\/workflows\/main\.ts:2: /),
    ]);
  });

  test("an import of what isn't there", async () => {
    const missing = withCode({
      "tools.ts": 'import { a } from "./lib/none.ts";\nimport b from "no-such-package";\nexport const c = [a, b];\n',
    });
    expect(await problems(missing)).toEqual([
      'crew/tools.ts:1: Could not resolve "./lib/none.ts"',
      'crew/tools.ts:2: Could not resolve "no-such-package"',
    ]);
    const noExport = withCode({
      "lib/a.ts": "export const x = 1;\n",
      "tools.ts": '\nimport { y } from "./lib/a.ts";\nexport const z = y;\n',
    });
    expect(await problems(noExport)).toEqual(['crew/tools.ts:2: No matching export in "lib/a.ts" for import "y"']);
    const notOurs = withCode({ "tools.ts": 'import { defineTol } from "toren";\nexport const z = defineTol;\n' });
    expect(await problems(notOurs)).toEqual([expect.stringMatching(/^crew(\/tools\.ts:1)?: .*defineTol/)]);
  });

  test("a tool whose schema can't be said", async () => {
    const folder = withCode({
      "tools.ts": `import { defineTool } from "toren";
import * as z from "zod";

interface Nothing { readonly here: string }

export const book = defineTool({
  description: "Books a room.",
  input: z.object({ day: z.date() }),
  effects: "external", idempotency: "none", approval: "never",
  handler: () => null,
});
`,
    });
    expect(await problems(folder)).toEqual([
      expect.stringMatching(/^crew\/tools\.ts:6: tool book: input\.day is a Date \(/),
    ]);
  });

  test("code that throws while it loads, in a file that another imports", async () => {
    const folder = withCode({
      "lib/settings.ts":
        'type Settings = { readonly url: string };\n\nexport function settings(): Settings {\n  throw new Error("no settings");\n}\n',
      "tools.ts": '// tools\nimport { settings } from "./lib/settings.ts";\n\nexport const url = settings().url;\n',
    });
    expect(await problems(folder)).toEqual(["crew/lib/settings.ts:4: no settings"]);
  });

  test("a default export that is no workflow, and a file that can't be a process", async () => {
    const folder = withCode({
      "workflows/main.ts": "export const x = 1;\n\nexport default async () => null;\n",
      "workflows/Nightly.ts":
        'import { defineWorkflow } from "toren";\nexport default defineWorkflow(async () => null);\n',
    });
    expect(await problems(folder)).toEqual([
      expect.stringMatching(/^crew\/workflows\/Nightly\.ts: process "Nightly": /),
      "crew/workflows/main.ts:3: must have a default export made by defineWorkflow: export default defineWorkflow(async (ctx) => …)",
    ]);
  });

  test("tools that can't go together", async () => {
    const tool =
      '{ description: "x", input: z.object({}), effects: "none", idempotency: "none", approval: "never", handler: () => null }';
    const folder = withCode({
      "tools.ts": `import { defineTool } from "toren";\nimport * as z from "zod";\nexport const read_file = defineTool(${tool});\nconst one = defineTool(${tool});\nexport { one as "a b" };\n`,
    });
    expect((await problems(folder)).sort()).toEqual([
      expect.stringMatching(/^crew\/tools\.ts(:5)?: tool "a b": a name has letters/),
      'crew/tools.ts:3: tool "read_file" has the name of a builtin: give it another',
    ]);
  });

  test("a prompt that isn't there, or isn't text", async () => {
    const yaml =
      "name: crew\ndescription: x\ndefaults: { model: mock/script }\nroles:\n  a: { system: { file: prompts/a.md } }\n  b:\n    system: { file: prompts/b.md }\nprocesses: { main: { role: a } }\n";
    const folder = withCode({ "prompts/a.md": "%PDF-1.7" }, yaml);
    expect(await problems(folder)).toEqual([
      'crew/agent.yaml:5: role "a": there is no file prompts/a.md that can be read in the agent\'s folder',
      'crew/agent.yaml:7: role "b": there is no file prompts/b.md that can be read in the agent\'s folder',
    ]);
  });
});

describe("a folder of agents", () => {
  test("a broken one doesn't keep the others from loading; what isn't an agent is left alone", async () => {
    const folder = agentFolder();
    folder.write("good/agent.yaml", YAML("good"));
    folder.write("broken/agent.yaml", YAML("other"));
    folder.write("typo/agent.yml", YAML("typo"));
    folder.write("lib/shared.ts", "export {};");
    folder.write("_drafts/agent.yaml", "}");
    folder.write("README.md", "Agents.");
    expect((await loadAgents(folder.agents, folder.options)).agents.map(({ name }) => name)).toEqual(["good"]);
    expect(await problems(folder)).toEqual([
      'broken/agent.yaml:1: name is "other", the folder is "broken": make them equal',
      "typo/agent.yaml: there is no agent.yaml that can be read: an agent's folder holds one, under exactly this name",
    ]);
  });

  test("that isn't there is said, not thrown", async () => {
    const { options, agents } = agentFolder();
    const { problems: found } = await loadAgents(join(agents, "none"), options);
    expect(found).toMatchObject([
      { code: "agent.invalid", line: null, message: expect.stringContaining("there is no such folder") },
    ]);
  });
});
