// What a run has to do whose worker is killed: a small crew that charges for things, for a few cents on a real provider; and the demo's.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { checkQuotes } from "../../local/demo/quotes.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import type { RunRow } from "../../shared/ports/store.ts";
import { AGENT, type Crew } from "../processes/crew.ts";

export interface Job {
  /** The agent's, by path. `options`: of every role, as agent.yaml has them. */
  files(model: string, options: string): Promise<Record<string, string>>;
  start(crew: Crew): Promise<string>;
  /** What is wrong with what came of it, beside the books. */
  check(crew: Crew, row: RunRow): Promise<string[]>;
}

export const CHARGES: Job = {
  files: async (model, options) => charges(model, options),
  start: async (crew) => await crew.start(`order ${Math.floor(Math.random() * 1e6)}`), // no cache of a provider's knows it
  check: async (crew) => {
    const effects = await crew.effects();
    return effects.length === 3 ? [] : [`${effects.length} charges were made instead of 3`];
  },
};

const charges = (model: string, options: string): Record<string, string> => ({
  "agent.yaml": `name: ${AGENT}
description: Three in parallel that each charge for something, then one that sums up.
env: [CREW_EFFECTS]
defaults: { model: "${model}", maxTokens: 2000 }
roles:
  digger: { system: "You charge for a topic. Call charge once, with the topic as its note; then say in a few words what was charged.", tools: [charge], options: ${options} }
  writer: { system: You sum up in one short sentence., options: ${options} }
`,
  "tools.ts": `import { mkdirSync, writeFileSync } from "node:fs";
import { defineTool } from "toren";
import * as z from "zod";

export const charge = defineTool({
  description: "Charges for something.",
  input: z.object({ note: z.string().describe("What to charge for.") }),
  effects: "external",
  idempotency: "keyed",
  approval: "never",
  handler: ({ note }, ctx) => {
    mkdirSync(ctx.env.CREW_EFFECTS, { recursive: true });
    writeFileSync(ctx.env.CREW_EFFECTS + "/" + ctx.idempotencyKey, note + "\\n", { flag: "a" });
    return "charged: " + note;
  },
});
`,
  "workflows/main.ts": `import { defineWorkflow } from "toren";

export default defineWorkflow(async (ctx) => {
  const topics = ["apples", "pears", "plums"];
  const { results } = await ctx.wave("dig", topics.map((topic) => ctx.task("digger", "Charge for " + topic + " of " + ctx.input)));
  return await ctx.ask("writer", "These were charged: " + results.map((r) => r.output).join(" "));
});
`,
});

const RESEARCH_CREW = join(import.meta.dirname, "../../agents/research_crew");
const textOf = (path: string): Promise<string> => readFile(join(RESEARCH_CREW, path), "utf8");
const corpus = async (): Promise<string[]> =>
  (await readdir(join(RESEARCH_CREW, "corpus"))).filter((name) => name.endsWith(".txt"));

/** The demo: a planner held to a schema, researchers with tools that read the corpus side by side, a writer that quotes. */
export const DEMO: Job = {
  files: async (model, options) => {
    const yaml = await textOf("agent.yaml");
    const prompts = ["planner", "researcher", "writer"].map((role) => `prompts/${role}.md`);
    const texts = await Promise.all([...prompts, "workflows/main.ts"].map(async (path) => [path, await textOf(path)]));
    return {
      ...Object.fromEntries(texts),
      "agent.yaml": yaml
        .replace(/^name:.*$/m, `name: ${AGENT}`)
        .replace(/model: [^,\s]+/, `model: ${JSON.stringify(model)}`)
        .replaceAll(/^( +)(system: .*)$/gm, `$1$2\n$1options: ${options}`),
    };
  },
  start: async ({ laptop }) => {
    const files: string[] = [];
    for (const name of await corpus()) {
      const content = new Uint8Array(await readFile(join(RESEARCH_CREW, "corpus", name)));
      files.push((await laptop.engine.files.add({ name, mediaType: "text/plain", content })).id);
    }
    const input = (await textOf("question.txt")).trim();
    const started = await startRun(laptop.engine, { agent: AGENT, input, files });
    if (started.type === "refused") throw new Error(started.error.message);
    return started.runId;
  },
  check: async (_, { output }) => {
    const lines = new Map<string, string[]>();
    for (const name of await corpus()) lines.set(name, (await textOf(`corpus/${name}`)).split(/\r?\n/));
    const { ok, quotes } = checkQuotes(String(output), (file) => lines.get(file));
    return ok ? [] : [`${quotes.length} quotes, and of them are wrong: ${JSON.stringify(quotes.filter((q) => !q.ok))}`];
  },
};
