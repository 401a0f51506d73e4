// Promises of an author's that reject while nobody looks, and errors that nobody can catch, in a real worker: in a workflow, a tool that times out, a step.
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
  other: { system: You fall., tools: [fall] }
`,
  "tools.ts": `import { spawn } from "node:child_process";
import { defineTool } from "toren";
import * as z from "zod";
setInterval(() => {
  if (globalThis.strolled !== true) return;
  globalThis.strolled = false;
  throw new Error("in a timer of a module");
}, 10).unref();
export const stray = defineTool({
  description: "Strays.",
  input: z.object({ note: z.string() }),
  effects: "none",
  idempotency: "none",
  approval: "never",
  timeoutMs: 50,
  handler: async (_, ctx) => {
    setTimeout(() => {
      throw new Error("in a timer of a tool that was stopped");
    }, 100);
    void (async () => {
      await null;
      throw new Error("of a tool");
    })();
    void new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(new Error("of a tool that is told to stop"))));
    return await new Promise(() => {});
  },
});
export const fall = defineTool({
  description: "Falls.",
  input: z.object({ note: z.string() }),
  effects: "none",
  idempotency: "none",
  approval: "never",
  handler: () => new Promise(() => spawn("/not/there", [])),
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
    globalThis.strolled = true;
    return "strolled";
  });
  setTimeout(() => {
    throw new Error("in a timer of a workflow");
  }, 1);
  const fallen = await ctx.step("tumble", () => new Promise(() => setTimeout(() => { throw new Error("in a timer of a step"); }, 1)), { attempts: 1 }).catch((e) => e.message);
  return [await early.catch((e) => e.message), step, answer.length > 0, fallen, await ctx.ask("other", "Please fall.")];
});
`,
};

const ENDS = [
  "of a workflow",
  "strolled",
  true,
  "step tumble failed: in a timer of a step",
  expect.stringContaining("spawn /not/there ENOENT"),
];

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

test("rejections that nobody awaits yet and errors that nobody can catch are logged with whose they are, and the worker goes on", async () => {
  const worker = await crew.worker();
  const runIds = [await crew.start("one"), await crew.start("two")];
  for (const row of await crew.ended(runIds, 30_000)) expect(row).toMatchObject({ status: "completed", output: ENDS });
  await crew.expectSound(runIds, { distinct: false });
  expect(worker.ended()).toBeNull();
  const logged = (await crew.logged()).filter((line) => typeof line.where === "string");
  const said = new Set(logged.map((line) => `${String(line.where).split(" of ")[0]}: ${line.error}`));
  expect([...said].sort()).toEqual([
    "step stroll: of a step",
    "step tumble: in a timer of a step",
    "the modules: in a timer of a module",
    "tool fall: spawn /not/there ENOENT",
    "tool stray: in a timer of a tool that was stopped",
    "tool stray: of a tool",
    "tool stray: of a tool that is told to stop",
    "workflow: in a timer of a workflow",
    "workflow: of a workflow",
  ]);
  const nameless = /^step|^the modules of agent crew$/; // what no run is named by
  const isNamed = ({ where }: { readonly where?: unknown }) =>
    nameless.test(String(where)) || runIds.some((id) => String(where).includes(id));
  expect(logged.every(isNamed)).toBe(true);
  await worker.end();
  expect(worker.ended()).toBe("0");
}, 60_000);

test.each([
  ["a rejection with an error", "Promise.reject(new TypeError('ours'))", "TypeError: ours"],
  ["one with anything else", "Promise.reject('ours')", "unhandled rejection: ours"],
  ["an error in a timer", "setTimeout(() => { throw new TypeError('ours'); })", "TypeError: ours"],
])("one of our own ends the process, as Node would: %s", (_, act, said) => {
  const guard = new URL("../../functions/rejections.ts", import.meta.url).href;
  const program = `import { guardRejections } from ${JSON.stringify(guard)};
    guardRejections({ info() {}, warn: console.log, error() {} });
    setTimeout(() => console.log("still here"), 1_000);
    ${act};`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    encoding: "utf8",
  });
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(said);
});

test("who ends the process is named: process.exit in an author's code", () => {
  const url = (path: string): string => JSON.stringify(new URL(`../../${path}`, import.meta.url).href);
  const program = `import { guardRejections } from ${url("functions/rejections.ts")};
    import { asAuthorsCode } from ${url("shared/core/workflow/window.ts")};
    guardRejections({ info() {}, warn() {}, error: (what, { where, code }) => console.log(where, code, what) });
    asAuthorsCode("tool leave", async () => { await null; process.exit(0); });`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
  expect(stdout).toBe("tool leave 0 process.exit was called by an agent's code: its worker ends\n");
});
