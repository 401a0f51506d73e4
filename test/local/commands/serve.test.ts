// `toren serve` as it runs on a server: a process of its own, asked over HTTP, ended by SIGTERM.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, jest, test } from "@jest/globals";
import { newKey } from "../../../shared/http/auth.ts";
import type { RunJson } from "../../../shared/http/run-json.ts";
import { ROOT } from "../../repo/files.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

jest.setTimeout(120_000);

const CLI = join(ROOT, "local/cli.ts");
const KEY = newKey();
const folder = mkdtempSync(join(tmpdir(), "toren-serve-"));
const children: ChildProcess[] = [];
let db: TestDatabase;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  db = await testDatabase();
  mkdirSync(join(folder, "agents/pair/workflows"), { recursive: true });
  writeFileSync(
    join(folder, "agents/pair/agent.yaml"),
    "name: pair\ndescription: Two one after the other.\nroles:\n  one: { system: You answer., model: openai/gpt-5-mini }\n",
  );
  writeFileSync(
    join(folder, "agents/pair/workflows/main.ts"),
    `import { defineWorkflow } from "toren";
export default defineWorkflow(async (ctx) => {
  const first = await ctx.ask("one", "first");
  await ctx.sleep(4_000);
  return { first, second: await ctx.ask("one", "second") };
});
`,
  );
  env = { ...process.env, DATABASE_URL: db.url, TOREN_API_KEY: KEY, NO_COLOR: "1" };
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(async () => {
  await db.drop();
  rmSync(folder, { recursive: true, force: true });
});

const once_ = (args: readonly string[], more: NodeJS.ProcessEnv = {}) =>
  spawnSync(process.execPath, ["--no-warnings", CLI, ...args], {
    cwd: folder,
    env: { ...env, ...more },
    encoding: "utf8",
  });

/** Resolves once it says where it listens. */
async function serve(): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(
    process.execPath,
    ["--no-warnings", CLI, "serve", "--port", "0", "--host", "127.0.0.1", "--model", "demo", "--json"],
    { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] },
  );
  children.push(child);
  let text = "";
  child.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  for (let tries = 0; !text.includes("\n") && tries < 600 && child.exitCode === null; tries++) await sleep(100);
  if (!text.includes("\n")) throw new Error(`it doesn't serve: ${said}`);
  return { child, url: (JSON.parse(text) as { url: string }).url };
}

const ask = async <T>(url: string, init: RequestInit = {}): Promise<T> =>
  (await (await fetch(url, { ...init, headers: { authorization: `Bearer ${KEY}`, ...init.headers } })).json()) as T;
const runAt = (url: string, runId: string): Promise<RunJson> => ask<RunJson>(`${url}/runs/${runId}`);

test("what it can't begin without is said in a sentence", () => {
  expect(once_(["serve"], { DATABASE_URL: "" })).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("`toren serve` needs DATABASE_URL"),
  });
  expect(once_(["serve"], { TOREN_API_KEY: "secret" })).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("TOREN_API_KEY is no key of Toren's"),
  });
  const unregistered = once_(["serve", "--model", "demo", "--port", "0"]);
  expect(unregistered.status).not.toBe(0);
  expect(unregistered.stderr).toContain("toren migrate");
});

test("it serves, ends at SIGTERM with its work let go of, and the next one goes on without paying again", async () => {
  const migrated = once_(["migrate", "--model", "demo"]);
  expect([migrated.status, migrated.stderr]).toEqual([0, expect.any(String)]);
  const first = await serve();
  expect((await fetch(`${first.url}/healthz`)).status).toBe(200);
  expect((await fetch(`${first.url}/agents`)).status).toBe(401);
  const { runId } = await ask<{ runId: string }>(`${first.url}/runs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ agent: "pair", input: "go" }),
  });
  // Its first answer is on record, and the run sleeps: the second is asked by another process.
  for (let tries = 0; (await runAt(first.url, runId)).receipt.modelCalls < 1 && tries < 200; tries++) await sleep(50);
  const begun = performance.now();
  first.child.kill("SIGTERM");
  const [code, signal] = (await once(first.child, "exit")) as [number | null, string | null];
  expect([code, signal]).toEqual([0, null]);
  expect(performance.now() - begun).toBeLessThan(30_000);

  const second = await serve();
  let run = await runAt(second.url, runId);
  for (let tries = 0; run.status !== "completed" && tries < 600; tries++) {
    await sleep(100);
    run = await runAt(second.url, runId);
  }
  expect(run).toMatchObject({ status: "completed", receipt: { modelCalls: 2, repaid: 0 } });
  second.child.kill("SIGTERM");
  expect((await once(second.child, "exit"))[0]).toBe(0);
});

test("it answers to any name, since a proxy gives it the name of its own: the key is what counts", async () => {
  const { request } = await import("node:http");
  const { url } = await serve();
  const { hostname, port } = new URL(url);
  const status = await new Promise((resolve, reject) => {
    request({ hostname, port, path: "/agents", headers: { host: "toren.example.com", authorization: `Bearer ${KEY}` } })
      .on("response", (response) => resolve(response.resume().statusCode))
      .on("error", reject)
      .end();
  });
  expect(status).toBe(200);
});
