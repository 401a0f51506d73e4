import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ROOT } from "./files.ts";

interface Violation {
  readonly from: string;
  readonly to: string;
  readonly rule: { readonly name: string };
}

const LAYERS = ["shared", "functions", "local", "cdk", "console", "agents"];

function violations(folder: string): string[] {
  const cruiser = join(ROOT, "node_modules/dependency-cruiser/bin/dependency-cruiser.mjs");
  const args = [cruiser, "--config", ".dependency-cruiser.mjs", "--output-type", "json", ...LAYERS];
  // It exits with the number of violations.
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8", maxBuffer: 2 ** 26 });
  if (stdout === "") throw new Error(stderr);
  const { summary } = JSON.parse(stdout) as { summary: { violations: Violation[] } };
  return summary.violations.map((v) => `${v.rule.name}: ${v.from} → ${v.to.replace(/^.*(?=node_modules)/, "")}`);
}

describe("dependencies point down", () => {
  // A small tree in the repository's shape, each file with one import that must not be.
  const WRONG: Readonly<Record<string, string>> = {
    "shared/core/clock.ts": 'import { readFileSync } from "node:fs"; export const now = readFileSync;',
    "shared/core/up.ts": 'import type { Run } from "../engine/run.ts"; export type Up = Run;',
    "shared/ports/store.ts": 'import type { Made } from "../adapters/queue/postgres.ts"; export type Store = Made;',
    "shared/engine/run.ts":
      'import { postgres } from "../adapters/queue/postgres.ts"; export type Run = typeof postgres;',
    "shared/engine/io.ts": 'import pg from "pg"; export const io = pg;',
    "shared/engine/telemetry.ts": 'import { trace } from "@opentelemetry/sdk-trace"; export const tracer = trace;',
    "functions/spans.ts": 'import { trace } from "@opentelemetry/api"; export const tracer = trace;',
    "shared/adapters/queue/postgres.ts":
      'import { sqs } from "./sqs.ts"; export const postgres = sqs; export type Made = 1;',
    "shared/adapters/queue/sqs.ts": 'import { url } from "../database/url.ts"; export const sqs = url;',
    "shared/adapters/database/url.ts": "export const url = 1;",
    "shared/http/app.ts": 'import { authoring } from "../authoring/index.ts"; export const app = authoring;',
    "shared/authoring/index.ts": 'import { serve } from "../../local/serve.ts"; export const authoring = serve;',
    "functions/tick.ts": 'import { serve } from "../local/serve.ts"; export const tick = serve;',
    "local/serve.ts": 'import { stack } from "../cdk/stack.ts"; export const serve = stack;',
    "cdk/stack.ts": 'import { app } from "../shared/http/app.ts"; export const stack = app;',
    "console/main.tsx":
      'import type { Run } from "../shared/engine/run.ts"; export const App = (of: Run) => <b>{of}</b>;',
    "console/api.ts": 'import { app } from "../shared/http/app.ts"; export const api = app;',
    "agents/crew/tools.ts": 'import { serve } from "../../local/serve.ts"; export const tool = serve;',
    "shared/core/a.ts": 'import { b } from "./b.ts"; export const a = () => b;',
    "shared/core/b.ts": 'import { a } from "./a.ts"; export const b = () => a;',
    "shared/core/alone.ts": "export const alone = 1;",
  };
  let folder: string;
  let found: string[];

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "toren-layers-"));
    for (const [path, text] of Object.entries(WRONG)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    cpSync(join(ROOT, ".dependency-cruiser.mjs"), join(folder, ".dependency-cruiser.mjs"));
    cpSync(join(ROOT, "package.json"), join(folder, "package.json"));
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    found = violations(folder);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each([
    "core-stays-pure: shared/core/clock.ts → fs",
    "core-imports-core: shared/core/up.ts → shared/engine/run.ts",
    "ports-import-core: shared/ports/store.ts → shared/adapters/queue/postgres.ts",
    "engine-imports-core-and-ports: shared/engine/run.ts → shared/adapters/queue/postgres.ts",
    "engine-imports-no-library: shared/engine/io.ts → node_modules/pg/esm/index.mjs",
    "that-door-opens-on-the-api-alone: shared/engine/telemetry.ts → node_modules/@opentelemetry/sdk-trace/dist/index.d.mts",
    "one-door-to-opentelemetry: functions/spans.ts → node_modules/@opentelemetry/api/dist/index.d.mts",
    "twins-do-not-know-each-other: shared/adapters/queue/postgres.ts → shared/adapters/queue/sqs.ts",
    "adapters-keep-to-their-port: shared/adapters/queue/sqs.ts → shared/adapters/database/url.ts",
    "http-calls-the-engine: shared/http/app.ts → shared/authoring/index.ts",
    "authoring-is-what-authors-see: shared/authoring/index.ts → local/serve.ts",
    "functions-are-the-edge: functions/tick.ts → local/serve.ts",
    "local-is-the-laptop: local/serve.ts → cdk/stack.ts",
    "cdk-imports-names-and-numbers: cdk/stack.ts → shared/http/app.ts",
    "console-is-a-client: console/main.tsx → shared/engine/run.ts",
    "console-takes-types-of-the-api: console/api.ts → shared/http/app.ts",
    "agents-import-the-package: agents/crew/tools.ts → local/serve.ts",
    "no-cycle: shared/core/a.ts → shared/core/b.ts",
    "no-orphan: shared/core/alone.ts → shared/core/alone.ts",
  ])("a wrong import is found: %s", (violation) => {
    expect(found).toContain(violation);
  });

  test("the repository keeps to them", () => {
    expect(violations(ROOT)).toEqual([]);
  });

  test("every rule says why it is there", async () => {
    const { default: config } = (await import(join(ROOT, ".dependency-cruiser.mjs"))) as {
      default: { forbidden: readonly { name: string; comment?: string }[] };
    };
    expect(config.forbidden.length).toBeGreaterThan(15);
    for (const { name, comment = "" } of config.forbidden) expect([name, comment.length > 20]).toEqual([name, true]);
  });
});
