// What docs/how-to/encrypt-payloads.md shows, done: keys made by its commands, its query, and over the command line and HTTP what it says of who has the key,
// who has another one, and who has none.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { RunningServer } from "../../local/server.ts";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { read } from "../repo/files.ts";
import { columnsWith } from "../support/canary.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { masterKey } from "../support/sealer.ts";
import { type Bench, createBench } from "./harness.ts";

const page = read("docs/how-to/encrypt-payloads.md");
const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map((hit) => hit[1] as string);
const [make = "", onAws = ""] = blocks("sh");
const [query = ""] = blocks("sql");
const CANARY = "canary9d1e";

/** Runs what the page shows, with commands that aren't tried here said instead. */
const shell = (script: string, folder: string): string =>
  execFileSync("sh", ["-ec", `npx() { echo "npx $*"; }\n${script}`], { encoding: "utf8", cwd: folder });

let folder: string;
let db: TestDatabase;
let bench: Bench;
/** As the page's command made it. */
let keys: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "toren-encrypt-"));
  keys = shell(`${make}\nprintf %s "$TOREN_ENCRYPTION_KEYS"`, folder).split("\n").at(-1) ?? "";
  db = await testDatabase();
  bench = await createBench();
});
afterAll(async () => {
  await bench.close();
  await db.drop();
  rmSync(folder, { recursive: true });
});

const model = () => createScriptedModel(() => `${CANARY} answer`);
const serve = (name: string, setting: string): Promise<RunningServer> =>
  bench.serve(model(), {
    stateFolder: join(bench.folder, name),
    databaseUrl: db.url,
    env: { TOREN_ENCRYPTION_KEYS: setting },
  });
const asking = (server: RunningServer) => async (path: string, body?: object) => {
  const headers = { authorization: `Bearer ${server.key}`, "content-type": "application/json" };
  const more = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(`${server.record.url}${path}`, { headers, ...more });
  const text = await response.text();
  return {
    status: response.status,
    text,
    json: text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {},
  };
};
const commands = (server: RunningServer, setting: string) => (args: readonly string[]) =>
  bench.toren(args, {
    env: {
      DATABASE_URL: db.url,
      TOREN_URL: server.record.url,
      TOREN_API_KEY: server.key,
      TOREN_ENCRYPTION_KEYS: setting,
    },
  });

describe("the page", () => {
  test("its command makes a key, and asks the doctor", () => {
    expect(keys).toMatch(/^2026-11:[A-Za-z0-9+/]{43}=$/);
    expect(make).toContain("npx toren doctor");
  });

  test("its commands for AWS keep what is in the secret, and leave no key behind", () => {
    const aws = `aws() { case "$*" in
      *get-secret-value*) echo '{"OPENAI_API_KEY":"sk-kept"}' ;;
      *put-secret-value*) cp keys.json put.json ;; esac; }
    node() { case "$1" in -p) echo arn:of:the:secret ;; *) command node "$@" ;; esac; }`;
    expect(shell(`${aws}\n${onAws}`, folder)).toContain("npx cdk deploy -c encryption=true");
    const put = JSON.parse(readFileSync(join(folder, "put.json"), "utf8")) as Record<string, string>;
    expect(put).toEqual({
      OPENAI_API_KEY: "sk-kept",
      TOREN_ENCRYPTION_KEYS: expect.stringMatching(/^2026-11:[A-Za-z0-9+/]{43}=$/),
    });
    expect(() => readFileSync(join(folder, "keys.json"))).toThrow();
  });
});

test("with the key everything is read as before; in the database there is nothing but structure, and labels", async () => {
  const server = await serve("mine", keys);
  const toren = commands(server, keys);
  const ran = await toren(["run", "echo", `${CANARY} question`, "--label", "customer=labelcanary"]);
  expect(ran).toMatchObject({ status: 0, out: expect.stringContaining(`${CANARY} answer`) });
  const [run] = ((await asking(server)("/runs")).json as { runs: RunJson[] }).runs;
  const runId = run?.runId ?? "";
  expect(await columnsWith(db.database.pool, CANARY)).toEqual([]);
  expect(await columnsWith(db.database.pool, "labelcanary")).toEqual(["run_terms.terms", "runs.attributes"]);
  const { rows } = await db.database.pool.query<{ type: string; payload: object }>(
    query.replace(":agent", "agent_echo").replace(":'run'", `'${runId}'`),
  );
  expect(rows.map((row) => row.type)).toEqual(
    expect.arrayContaining(["RunCreated", "LlmCallCompleted", "RunCompleted"]),
  );
  expect(rows.find((row) => row.type === "LlmCallCompleted")?.payload).toMatchObject({
    usage: expect.objectContaining({ output: expect.any(Number) }),
    response: { stopReason: "end", content: { "\uE0FFsealed": expect.stringMatching(/^1\./) } },
  });
  for (const args of [
    ["jobs", "show", runId],
    ["jobs", "tail", runId],
    ["jobs", "export", runId],
  ])
    expect([args[1], (await toren(args)).out.includes(`${CANARY} answer`)]).toEqual([args[1], true]);
  expect((await toren(["jobs", "list", "--text", CANARY])).out).not.toContain(runId.slice(0, 8));
  expect((await toren(["jobs", "list", "--label", "customer=labelcanary"])).out).toContain(runId.slice(0, 8));
  const stream = await fetch(`${server.record.url}/runs/${runId}/events`, {
    headers: { authorization: `Bearer ${server.key}`, accept: "text/event-stream" },
  });
  const reader = stream.body?.getReader();
  let heard = "";
  while (!heard.includes("RunCreated")) heard += new TextDecoder().decode((await reader?.read())?.value);
  await reader?.cancel();
  expect(heard).toContain(`${CANARY} question`);
  await server.close();
}, 60_000);

test("without it runs are listed and counted, and whatever needs content is a 503 that names the key; nothing of the run changes", async () => {
  const server = await serve("strange", masterKey("2020"));
  const ask = asking(server);
  const listed = (await ask("/runs")).json as { runs: RunJson[] };
  expect(listed.runs).toMatchObject([{ agent: "echo", status: "completed", attributes: { customer: "labelcanary" } }]);
  const runId = listed.runs[0]?.runId ?? "";
  for (const path of ["/metrics", "/overview", "/agents"])
    expect([path, (await ask(path)).status]).toEqual([path, 200]);
  for (const [path, body] of [
    [`/runs/${runId}`],
    [`/runs/${runId}/events`],
    [`/runs/${runId}/outline?stream=run`],
    [`/runs/${runId}/export`],
    [`/runs/${runId}/cancel`, {}],
    [`/runs/${runId}/fork`, {}],
  ] as const) {
    const { status, json } = await ask(path, body);
    expect([path, status, json.code]).toEqual([path, 503, "encryption.key_missing"]);
    expect(json.detail).toContain('"2026-11"');
  }
  expect((await ask("/runs/00000000-0000-4000-8000-000000000000")).json).toMatchObject({ code: "run.unknown" });
  const shown = await commands(server, "")(["jobs", "show", runId]);
  expect(shown.status).not.toBe(0);
  expect(shown.err).toContain('"2026-11"');
  await server.close();
}, 60_000);

test("rotated, the new key seals and both open; the doctor counts what each opens", async () => {
  const young = masterKey("2027-05");
  const setting = `${young},${keys}`;
  const server = await serve("rotated", setting);
  const toren = commands(server, setting);
  expect(await toren(["run", "echo", "again"])).toMatchObject({ status: 0 });
  const { rows } = await db.database.pool.query(
    "SELECT split_part(data_key, '.', 2) AS key FROM agent_echo.runs ORDER BY created_at",
  );
  expect(rows).toEqual([{ key: "2026-11" }, { key: "2027-05" }]);
  const { runs } = (await asking(server)("/runs")).json as { runs: RunJson[] };
  for (const { runId } of runs) expect((await asking(server)(`/runs/${runId}`)).status).toBe(200);
  const well = await toren(["doctor"]);
  expect(well.out).toMatch(/✔ encryption +on: new runs are sealed with the key "2027-05"; "2026-11" still opens/);
  expect(well.out).toMatch(/✔ key 2026-11 +opens \d data keys?/);
  const lacking = await commands(server, young)(["doctor"]);
  expect(lacking.out).toMatch(/✘ key 2026-11 +\d data keys?: .*"2026-11", which this process doesn't have/);
  const off = await commands(server, "")(["doctor"]);
  expect(off.out).toMatch(/○ encryption +off: TOREN_ENCRYPTION_KEYS isn't set/);
  for (const { out } of [well, lacking, off]) expect(out).not.toContain(young.slice(10, 30));
  await server.close();
}, 60_000);

test("a setting that holds no keys stops the start, and says which entry", async () => {
  const { status, err } = await bench.toren(["dev", "--port", "0"], {
    env: { DATABASE_URL: db.url, TOREN_HOME: join(bench.folder, "broken"), TOREN_ENCRYPTION_KEYS: "2026-11:tooshort" },
  });
  expect(status).not.toBe(0);
  expect(err).toMatch(/TOREN_ENCRYPTION_KEYS can't be used: the key "2026-11" isn't 32 bytes in base64/);
}, 60_000);
