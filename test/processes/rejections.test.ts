// Promises of an author's that reject while nobody looks, in a real worker: in a workflow, a tool that times out, a step.
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { type Crew, createCrew } from "./crew.ts";

const FILES = {
  "agent.yaml": `name: crew
description: Leaves promises alone.
defaults: { model: openai/rules }
roles:
  main: { system: You stray., tools: [stray] }
`,
  "tools.ts": `import { defineTool } from "toren";
import * as z from "zod";
export const stray = defineTool({
  description: "Strays.",
  input: z.object({ note: z.string() }),
  effects: "none",
  idempotency: "none",
  approval: "never",
  timeoutMs: 50,
  handler: async (_, ctx) => {
    void (async () => {
      await null;
      throw new Error("of a tool");
    })();
    void new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(new Error("of a tool that is told to stop"))));
    return await new Promise(() => {});
  },
});
`,
  "workflows/main.ts": `import { defineWorkflow } from "toren";
export default defineWorkflow(async (ctx) => {
  const early = (async () => {
    await ctx.sleep(1);
    throw new Error("of a workflow");
  })();
  const answer = await ctx.ask("main", "Please stray.");
  const step = await ctx.step("stroll", async () => {
    setTimeout(() => Promise.reject("of a step"), 1);
    return "strolled";
  });
  return [await early.catch((e) => e.message), step, answer.length > 0];
});
`,
};

let db: TestDatabase;
let crew: Crew;
beforeAll(async () => {
  db = await testDatabase();
  crew = await createCrew(db.url, FILES);
});
afterAll(async () => {
  await crew.close();
  await db.drop();
});

test("rejections that nobody awaits yet are logged with whose they are, and the worker goes on", async () => {
  const worker = await crew.worker();
  const runIds = [await crew.start("one"), await crew.start("two")];
  for (const row of await crew.ended(runIds, 30_000))
    expect(row).toMatchObject({ status: "completed", output: ["of a workflow", "strolled", true] });
  await crew.expectSound(runIds, { distinct: false });
  expect(worker.ended()).toBeNull();
  const logged = (await crew.logged()).filter((line) => typeof line.where === "string");
  const said = new Set(logged.map((line) => `${String(line.where).split(" of ")[0]}: ${line.error}`));
  expect([...said].sort()).toEqual([
    "step stroll: of a step",
    "tool stray: of a tool",
    "tool stray: of a tool that is told to stop",
    "workflow: of a workflow",
  ]);
  expect(
    logged.every(
      (line) => String(line.where).startsWith("step") || runIds.some((id) => String(line.where).includes(id)),
    ),
  ).toBe(true);
  await worker.end();
  expect(worker.ended()).toBe("0");
}, 60_000);

test.each([
  ["an error", "new TypeError('ours')", "TypeError: ours"],
  ["anything else", "'ours'", "unhandled rejection: ours"],
])("one of our own ends the process, as Node would: %s", (_, reason, said) => {
  const guard = new URL("../../functions/rejections.ts", import.meta.url).href;
  const program = `import { guardRejections } from ${JSON.stringify(guard)};
    guardRejections({ info() {}, warn: console.log, error() {} });
    setTimeout(() => console.log("still here"), 1_000);
    Promise.reject(${reason});`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    encoding: "utf8",
  });
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(said);
});
