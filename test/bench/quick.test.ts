// That the bench runs, whatever it finds: speed is for people to look at, on a machine that does nothing else.
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Report } from "../../bench/report.ts";

const BENCH = fileURLToPath(new URL("../../bench/bench.ts", import.meta.url));

let folder: string;
let report: Report;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "toren-bench-test-"));
  const env = { ...process.env, DATABASE_URL: process.env.TOREN_TEST_SERVER };
  const { stdout } = await promisify(execFile)(process.execPath, [BENCH, "--quick", "--json", "--out", folder], {
    env,
  });
  report = JSON.parse(stdout) as Report;
}, 180_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

test("every figure is a finite number", () => {
  const broken = report.measures.filter((m) => ![m.value, ...(m.spread ?? [])].every(Number.isFinite));
  expect(broken).toEqual([]);
});

test("each figure is there, with statistics stale and fresh where tables are asked", () => {
  const found = new Set(report.measures.map((m) => `${m.figure} ${m.statistics}`));
  const asked = ["append", "throughput", "start", "wave", "resume", "live step", "stored", "lists", "guardian"];
  const both = asked.flatMap((figure) => [`${figure} stale`, `${figure} fresh`]);
  expect([...found].sort()).toEqual([...both, "bundles none", "memory fresh", "requests fresh"].sort());
});

test("every target of the design has a measure", () => {
  const targets = report.measures.filter((m) => m.target !== null && m.statistics !== "stale");
  expect(targets.map((m) => `${m.figure}: ${JSON.stringify(m.target)}`)).toEqual([
    'append: {"atMost":1.3}',
    'throughput: {"atLeast":1.2}',
    'start: {"atMost":15}',
    'wave: {"atMost":1.2}',
    'wave: {"atMost":3}',
    'resume: {"atMost":1000}',
    'resume: {"atMost":1.2}',
    'live step: {"atMost":1.2}',
    'stored: {"atMost":1.2}',
    ...Array.from({ length: 6 }, () => 'lists: {"atMost":20}'),
    'guardian: {"atMost":1.2}',
    'requests: {"atMost":10}',
    'requests: {"atMost":50}',
    'memory: {"atMost":300}',
    'bundles: {"atMost":75}',
    'bundles: {"atMost":300}',
    'bundles: {"atMost":60}',
  ]);
});

test("the charts are drawn from it, and the report is kept beside them", async () => {
  const files = await readdir(folder);
  expect(files.sort()).toEqual(["latest.json", "ratios.svg", "resume.svg", "throughput.svg", "wave.svg"]);
  expect(JSON.parse(await readFile(join(folder, "latest.json"), "utf8"))).toEqual(report);
  for (const file of files.filter((name) => name.endsWith(".svg"))) {
    const text = await readFile(join(folder, file), "utf8");
    expect(text).toMatch(/^<svg .*<\/svg>\n$/s);
    expect(text).not.toMatch(/NaN|undefined|Infinity/);
  }
});
