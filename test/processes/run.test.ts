// `toren run` with a server of its own, as a process: how it ends, and what of it reaches which stream.
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type DemoModel, startDemoModel } from "../../local/client/models.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

const CLI = resolve(import.meta.dirname, "../../local/cli.ts");

let db: TestDatabase;
let model: DemoModel;
let folder: string;
beforeAll(async () => {
  db = await testDatabase();
  model = await startDemoModel(process.env);
  folder = await mkdtemp(join(tmpdir(), "toren-run-"));
  await mkdir(join(folder, "agents/talker/workflows"), { recursive: true });
  await writeFile(
    join(folder, "agents/talker/agent.yaml"),
    "name: talker\ndescription: Prints.\nmodel: openai/rules\nsystem: You talk.\n",
  );
  await writeFile(
    join(folder, "agents/talker/workflows/main.ts"),
    `import { defineWorkflow } from "toren";
export default defineWorkflow(async (ctx) => {
  console.log("said by the workflow");
  await ctx.ask("main", ctx.input);
  return "done";
});
`,
  );
});
afterAll(async () => {
  await model.close();
  await db.drop();
  await rm(folder, { recursive: true });
});

async function toren(...args: string[]) {
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: folder,
    env: { ...model.env, DATABASE_URL: db.url },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => (out += String(chunk)));
  child.stderr.on("data", (chunk) => (err += String(chunk)));
  const status = await new Promise((done) => child.on("close", done));
  return { status, out, err };
}

test("with a real provider nothing keeps the process but its closing: it ends with 0 all the same, and agents' prints are no output", async () => {
  const { status, out, err } = await toren("run", "talker", "Hello", "--json");
  expect(err).not.toContain("unsettled");
  expect(status).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ status: "completed", output: "done" });
  expect(err).toContain("said by the workflow");
});
