// Every SQL that a page shows runs on a database with a run in it, and finds what the page says.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { AGENT, type EngineTest, engineTest } from "../engine/support.ts";
import { role, tool, workflow } from "../support/agents.ts";
import { filesBelow } from "./files.ts";

const shown = filesBelow("docs").flatMap(({ path, text }) =>
  [...text.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map((hit, i) => [`${path} (${i + 1})`, hit[1] as string] as const),
);

let t: EngineTest;
let run = "";
beforeAll(async () => {
  t = await engineTest();
  const dump = tool("dump", () => "x".repeat(300_000));
  const model = createScriptedModel((request) =>
    request.messages.length === 1 && request.tools.length > 0 ? { tools: [{ name: "dump", args: {} }] } : "It is done.",
  );
  const roles = [role("digger", { tools: [dump], system: "You dig." }), role("writer")];
  const main = workflow(async (ctx) => await ctx.ask("writer", { found: await ctx.ask<string>("digger", "dig") }));
  const made = await t.run(roles, main, model);
  expect(made.row).toMatchObject({ status: "completed", output: "It is done." });
  run = made.runId;
});
afterAll(() => t.close());

/** As psql would send it, for this agent and this run. */
const rows = (sql: string): Promise<Record<string, unknown>[]> =>
  t.sql(
    sql
      .replaceAll(/(?<!:):agent\b/g, `agent_${AGENT}`)
      .replaceAll("agent_research_crew", `agent_${AGENT}`)
      .replaceAll(":'run'", `'${run}'`),
  );
const query = (part: string): string => {
  const found = shown.filter(([, sql]) => sql.includes(part));
  expect(found.map(([place]) => place)).toHaveLength(1);
  return found[0]?.[1] ?? "";
};

test.each(shown)("%s runs", async (_place, sql) => {
  expect(await rows(sql)).toBeInstanceOf(Array);
});

describe("docs/how-to/read-prompts-with-sql.md", () => {
  test("the system prompt and the tools of a task", async () => {
    expect(await rows(query("system_prompt"))).toEqual([
      { attempt: "1", model: "mock/script", system_prompt: "You dig.", tools: ["dump"], options: {} },
    ]);
  });

  test("a task's conversation, in order", async () => {
    const said = await rows(query("task_specs"));
    expect(said.map((row) => row.what)).toEqual(["input", "answer", "result", "answer"]);
    expect(said[0]?.said).toBe("dig");
    expect(said[3]?.said).toEqual([{ type: "text", text: "It is done." }]);
  });

  test("all answers of a run with their tokens", async () => {
    const answers = await rows(query("AS texts"));
    expect(answers.map(({ role: name, step, calls, texts }) => ({ name, step, calls, texts }))).toEqual([
      { name: "digger", step: "s0", calls: ["dump"], texts: [] },
      { name: "digger", step: "s1", calls: [], texts: ["It is done."] },
      { name: "writer", step: "s0", calls: [], texts: ["It is done."] },
    ]);
    for (const { input, output } of answers) expect([Number(input) > 0, Number(output) > 0]).toEqual([true, true]);
  });

  test("cost by model, by the reader's own prices", async () => {
    const sql = query("WITH price");
    expect(await rows(sql)).toMatchObject([{ model: "mock/script", calls: "3", usd: null }]);
    const [found] = await rows(sql.replace("openai/your-model", "mock/script"));
    const [input, output] = [Number(found?.input), Number(found?.output)];
    expect(input + output).toBeGreaterThan(0);
    expect(Number(found?.usd)).toBeCloseTo((input * 2.5 + output * 10) / 1_000_000, 4);
  });

  test("what lies in the blobs", async () => {
    expect(await rows(query("jsonb_each"))).toMatchObject([
      { type: "ToolCallCompleted", key: "result", bytes: 300_002 },
    ]);
  });
});
