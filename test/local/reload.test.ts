import { renameSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "@jest/globals";
import { type AgentChange, type AgentWatch, watchAgents } from "../../local/reload.ts";
import { type AgentFolder, agentFolder, YAML } from "./load/agent-folder.ts";

let watching: AgentWatch | undefined;
afterEach(() => watching?.close());

const workflow = (value: unknown): string =>
  `import { defineWorkflow } from "toren"; import { add } from "../../_lib/add.ts"; export default defineWorkflow(async () => add(${JSON.stringify(value)}));`;

function folder(): AgentFolder {
  const made = agentFolder();
  made.write("_lib/add.ts", "export const add = (n: number): number => n + 1;");
  made.write("calc/agent.yaml", YAML("calc"));
  made.write("calc/workflows/main.ts", workflow(1));
  made.write("talk/agent.yaml", YAML("talk"));
  return made;
}

async function start(made: AgentFolder): Promise<AgentChange[]> {
  const changes: AgentChange[] = [];
  watching = await watchAgents(made.agents, made.options, (change) => void changes.push(change));
  return changes;
}

async function until(changes: readonly AgentChange[], count: number): Promise<AgentChange | undefined> {
  for (let waited = 0; changes.length < count && waited < 8_000; waited += 20) await sleep(20);
  expect(changes).toHaveLength(count);
  return changes[count - 1];
}

async function resultOf(change: AgentChange | undefined): Promise<unknown> {
  const main = change?.type === "loaded" ? change.agent.processes.get("main") : undefined;
  return main?.kind === "workflow" ? main.run(undefined as never) : change;
}

test("an edit calls back with the new code, a mistake with its problems, and its repair again", async () => {
  const made = folder();
  const changes = await start(made);
  expect(watching?.initial.agents.map(({ name }) => name)).toEqual(["calc", "talk"]);
  made.write("calc/workflows/main.ts", workflow(41));
  expect(await resultOf(await until(changes, 1))).toBe(42);
  made.write("calc/workflows/main.ts", "export default {");
  expect(await until(changes, 2)).toMatchObject({ type: "broken", name: "calc", problems: [{ line: 1 }] });
  made.write("calc/workflows/main.ts", workflow(41));
  expect(await resultOf(await until(changes, 3))).toBe(42);
});

test("a module that agents share reloads those that use it", async () => {
  const made = folder();
  const changes = await start(made);
  made.write("_lib/add.ts", "export const add = (n: number): number => n + 100;");
  expect(await resultOf(await until(changes, 1))).toBe(101);
  await sleep(400);
  expect(changes).toHaveLength(1);
});

test("a burst of writes is one reload; comments and formatting alone are none", async () => {
  const made = folder();
  const changes = await start(made);
  for (let i = 0; i < 5; i++) {
    made.write("talk/agent.yaml", YAML("talk", `maxSteps: ${i + 1}\n`));
    await sleep(15);
  }
  const change = await until(changes, 1);
  expect(change?.type === "loaded" && change.agent.roles.get("main")?.maxSteps).toBe(5);
  made.write("talk/agent.yaml", `# more words\n${YAML("talk", "maxSteps:   5\n")}`);
  await sleep(500);
  expect(changes).toHaveLength(1);
});

test("a file that is replaced by another, as editors do, is watched on", async () => {
  const made = folder();
  const changes = await start(made);
  for (let i = 1; i <= 4; i++) {
    made.write("talk/agent.yaml.new", YAML("talk", `maxSteps: ${i}\n`));
    renameSync(join(made.agents, "talk/agent.yaml.new"), join(made.agents, "talk/agent.yaml"));
    const change = await until(changes, i);
    expect(change?.type === "loaded" && change.agent.roles.get("main")?.maxSteps).toBe(i);
  }
});

test("an agent can come and go", async () => {
  const made = folder();
  const changes = await start(made);
  made.write("fresh/agent.yaml", YAML("fresh"));
  expect(await until(changes, 1)).toMatchObject({ type: "loaded", agent: { name: "fresh" } });
  made.write("fresh/agent.yaml", YAML("fresh", "maxSteps: 2\n"));
  expect(await until(changes, 2)).toMatchObject({ type: "loaded", agent: { name: "fresh" } });
  made.remove("fresh");
  expect(await until(changes, 3)).toMatchObject({
    type: "broken",
    name: "fresh",
    problems: [{ message: expect.stringContaining("there is no agent.yaml") }],
  });
});

test("a folder that isn't there is refused", async () => {
  const made = agentFolder();
  await expect(watchAgents(`${made.agents}/none`, made.options, () => undefined)).rejects.toThrow("there is no folder");
});
