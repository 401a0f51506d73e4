// What schemathesis makes of the API's description, sent to a real server: nothing may answer with 5xx, or with what isn't described. Deterministic: the
// requests follow from the description and from what was answered before, one at a time.
import { execFileSync, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ROUTES } from "../../shared/http/app.ts";
import { createInstallation, type Installation } from "./installation.ts";

let there: Installation;
let tools: string;
let folder: string;
beforeAll(async () => {
  tools = execFileSync(join(import.meta.dirname, "tools.sh"), { encoding: "utf8" }).trim();
  folder = await mkdtemp(join(tmpdir(), "toren-api-"));
  there = await createInstallation();
});
afterAll(async () => {
  await there?.close();
  await rm(folder, { recursive: true, force: true });
});

/**
 * Left out: that a route takes whatever its schema takes (agents, runs and cursors have to be there, and times to lie ahead), and what is about several
 * requests, which tests of the routes hold.
 */
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "negative_data_rejection",
  "missing_required_header",
  "unsupported_method",
  "allow_header_conformance",
  "ignored_auth",
];

interface Pass {
  readonly key: string;
  /** Of the run that every request of a run is about; others come by chance. */
  readonly run: string;
  readonly phases: string;
  /** Requests of a route that are made up, beside those that a phase derives from the schema's limits. */
  readonly examples: number;
  /** Routes whose path holds this. */
  readonly only?: string;
}

const configuration = (ids: Installation["ids"], run: string): string =>
  [
    `[parameters]\n"path.runId" = "${run}"\n`,
    ...Object.entries(ids).map(
      ([name, values]) =>
        `[dictionaries.${name}]\nvalues = ${JSON.stringify(values)}\n[parameters."path.${name}"]\ndictionary = "${name}"\nprobability = 0.7\n`,
    ),
  ].join("");

interface Entry {
  readonly request: { readonly method: string; readonly url: string };
  readonly response: { readonly status: number };
}

/** @throws Error with its whole report, if it found something. Returns how requests were answered, by route. */
async function schemathesis({ key, run, phases, examples, only = "" }: Pass): Promise<Map<string, Set<number>>> {
  const config = join(folder, "schemathesis.toml");
  const har = join(folder, "har.json");
  await writeFile(config, configuration(there.ids, run));
  const args = [
    ["--config-file", config, "--no-color", "run", `${there.url}/openapi.json`],
    ["--header", `Authorization:Bearer ${key}`, "--generation-deterministic", "--phases", phases],
    ["--checks", CHECKS.join(","), "--max-examples", String(examples), "--suppress-health-check", "all"],
    ["--no-shrink", "--continue-on-failure", "--request-timeout", "25", "--warnings", "off"],
    ["--report-har-path", har, "--include-path-regex", only],
  ].flat();
  const child = spawn(join(tools, "schemathesis"), args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text) => {
      said += text;
    });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`schemathesis ended with ${code}:\n${said}`);
  return answersOf(JSON.parse(await readFile(har, "utf8")).log.entries);
}

function answersOf(entries: readonly Entry[]): Map<string, Set<number>> {
  const patterns = ROUTES.map(({ method, path }) => ({
    route: `${method} ${path}`,
    method,
    pattern: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
  }));
  const answers = new Map(patterns.map(({ route }) => [route, new Set<number>()]));
  for (const { request, response } of entries) {
    const path = request.url.replace(/^https?:\/\/[^/]+/, "").replace(/\?.*$/, "");
    const found = patterns.find(({ method, pattern }) => method === request.method && pattern.test(path));
    if (found !== undefined) answers.get(found.route)?.add(response.status);
  }
  return answers;
}

const without = (answers: Map<string, Set<number>>, status: (status: number) => boolean): string[] =>
  [...answers].filter(([, statuses]) => ![...statuses].some(status)).map(([route]) => route);

describe("whatever is asked, the answer is as described", () => {
  test("with a key that may do everything", async () => {
    const pass = { key: there.key, run: there.runs.echo, phases: "coverage,fuzzing", examples: 8 };
    const answers = await schemathesis(pass);
    // Requests get through, so what was looked at isn't refusals alone. The schema of a pruning knows no agent's name.
    const refused = without(answers, (status) => status < 300).filter((route) => !route.includes("{runId}"));
    expect(refused).toEqual(["POST /prune"]);
  });

  test.each([
    ["read", "crew", ["GET /runs/{runId}", "GET /runs/{runId}/events", "GET /runs/{runId}/export"]],
    ["run", "talk", ["POST /runs/{runId}/cancel"]],
    ["run", "shop", ["POST /runs/{runId}/fork"]],
    ["run", "failed", ["POST /runs/{runId}/retry"]],
    ["approve", "desk", ["POST /runs/{runId}/approvals"]],
  ] as const)("with a key that may %s, about the run of %s", async (scope, run, through) => {
    const key = await there.make([scope]);
    const answers = await schemathesis({ key, run: there.runs[run], phases: "fuzzing", examples: 6, only: "runs/" });
    for (const route of through)
      expect([route, [...(answers.get(route) ?? [])].some((s) => s < 300)]).toEqual([route, true]);
    const closed = ROUTES.filter((route) => route.scope !== "open" && route.scope !== scope);
    for (const { method, path } of closed)
      expect([path, [...(answers.get(`${method} ${path}`) ?? [])].filter((s) => s < 400)]).toEqual([path, []]);
  });

  test("with a key for an agent that has no runs", async () => {
    const key = await there.make(["admin"], ["nobody"]);
    const answers = await schemathesis({ key, run: there.runs.crew, phases: "fuzzing", examples: 3, only: "runs" });
    const ofRuns = [...answers].filter(([route]) => route.includes("{runId}"));
    for (const [route, statuses] of ofRuns) expect([route, [...statuses].filter((s) => s < 400)]).toEqual([route, []]);
  });
});

test("Prometheus' own parser reads what /metrics says", async () => {
  const text = await (
    await fetch(`${there.url}/metrics`, { headers: { authorization: `Bearer ${there.key}` } })
  ).text();
  const parse = `import json, sys
from prometheus_client.parser import text_string_to_metric_families
print(json.dumps({s.name: s.value for f in text_string_to_metric_families(sys.stdin.read()) for s in f.samples}))`;
  const read = JSON.parse(execFileSync(join(tools, "python"), ["-c", parse], { input: text, encoding: "utf8" }));
  expect(Object.keys(read)).toEqual(
    expect.arrayContaining(["toren_runs", "toren_model_calls_total", "toren_append_seconds_bucket"]),
  );
  expect(read.toren_append_seconds_count).toBeGreaterThan(10);
});
