import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { loadAgents } from "../../../local/load/load-agents.ts";
import { problemText } from "../../../shared/authoring/problem.ts";
import { type AgentFolder, agentFolder, YAML } from "./agent-folder.ts";

async function problems(folder: AgentFolder): Promise<string[]> {
  const loaded = await loadAgents(folder.agents, folder.options);
  return loaded.problems.map((problem) => problemText(problem).replaceAll(`${folder.agents}/`, ""));
}

test("a generator is no workflow: its file and line are named", async () => {
  const folder = agentFolder();
  folder.write("gen/agent.yaml", YAML("gen"));
  folder.write(
    "gen/workflows/main.ts",
    'import { defineWorkflow } from "toren";\nexport default defineWorkflow(async function* () { yield 1; } as never);\n',
  );
  expect(await problems(folder)).toEqual([expect.stringMatching(/gen\/workflows\/main\.ts:2.*not a generator/)]);
});

test("an export that throws when it is looked at is its agent's problem, and no other agent's", async () => {
  const folder = agentFolder();
  folder.write("odd/agent.yaml", YAML("odd"));
  folder.write("odd/tools.ts", "export const a = new Proxy({}, { has() { throw new Error('hands off'); } });\n");
  expect(await problems(folder)).toEqual(["odd/tools.ts: what its modules export can't be read: hands off"]);
});

describe("what is no text, or not the agent's", () => {
  test("a binary agent.yaml, and one that isn't UTF-8, are one problem each", async () => {
    const folder = agentFolder();
    folder.write("zeros/agent.yaml", "\u0000".repeat(5_000));
    folder.write("latin/agent.yaml", "");
    writeFileSync(
      join(folder.agents, "latin/agent.yaml"),
      Buffer.from("name: latin\ndescription: caf\xe9\n", "latin1"),
    );
    expect(await problems(folder)).toEqual([
      "latin/agent.yaml: agent.yaml isn't text: it is not valid UTF-8",
      "zeros/agent.yaml: agent.yaml isn't text: it is binary data",
    ]);
  });

  test("a prompt that is a link out of the folder is not there; a link within it is", async () => {
    const folder = agentFolder();
    const yaml = (file: string) => `name: crew\ndescription: x\nmodel: mock/script\nsystem: { file: ${file} }\n`;
    folder.write("crew/agent.yaml", yaml("prompts/out.md"));
    folder.write("crew/prompts/real.md", "Answer.");
    folder.write("secret.md", "Not yours.");
    symlinkSync("../../secret.md", join(folder.agents, "crew/prompts/out.md"));
    symlinkSync("real.md", join(folder.agents, "crew/prompts/in.md"));
    expect(await problems(folder)).toEqual([expect.stringContaining("there is no file prompts/out.md")]);
    folder.write("crew/agent.yaml", yaml("prompts/in.md"));
    const [crew] = (await loadAgents(folder.agents, folder.options)).agents;
    expect(crew?.roles.get("main")?.system).toBe("Answer.");
  });
});

test("options that a provider would refuse are told at once, with their line; another provider's names are none of this one's", async () => {
  const folder = agentFolder();
  const yaml = (model: string) =>
    `name: crew\ndescription: x\nmodel: ${model}\nsystem: s\noptions:\n  thinking: { type: adaptive }\n`;
  folder.write("crew/agent.yaml", yaml("anthropic/claude-opus-5"));
  expect(await problems(folder)).toEqual([]);
  folder.write("crew/agent.yaml", yaml("bedrock/amazon.nova-pro-v1:0"));
  expect(await problems(folder)).toEqual([expect.stringMatching(/^crew\/agent\.yaml:[56]: role "main": .*thinking/)]);
});

test("a redaction is taken from tools.ts, beside tools or alone; two are one too many", async () => {
  const folder = agentFolder();
  folder.write("crew/agent.yaml", YAML("crew"));
  const one = 'export const redaction = defineRedaction((value, what) => (what.kind === "input" ? "[out]" : value));\n';
  folder.write("crew/tools.ts", `import { defineRedaction } from "toren";\n${one}`);
  const { agents } = await loadAgents(folder.agents, folder.options);
  expect(agents[0]?.redact?.("secret", { kind: "input", name: "main" })).toBe("[out]");
  folder.write("crew/tools.ts", `import { defineRedaction } from "toren";\n${one}export default redaction;\n`);
  expect(await problems(folder)).toEqual([]);
  folder.write(
    "crew/tools.ts",
    `import { defineRedaction } from "toren";\n${one}${one.replace("redaction", "second")}`,
  );
  expect(await problems(folder)).toEqual([
    expect.stringMatching(/crew\/tools\.ts:3: two redactions are exported: make one of them/),
  ]);
});
