// The whole demo as a person starts it, in a process of its own, on a real Postgres.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { reportJson } from "../../../local/demo/report.ts";
import { isRunning } from "../../../local/state.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { until } from "../../support/sqs.ts";

const ROOT = join(import.meta.dirname, "../../..");
let folder: string;
let db: TestDatabase;

beforeAll(async () => {
  [folder, db] = await Promise.all([mkdtemp(join(tmpdir(), "toren-demo-")), testDatabase()]);
});
afterAll(async () => {
  await db.drop();
  await rm(folder, { recursive: true, force: true });
});

/** A key is in the environment, at an address where nobody is: a call that went there would fail the run. */
function startDemo(...args: string[]) {
  const env = {
    PATH: process.env.PATH,
    TOREN_HOME: folder,
    DATABASE_URL: db.url,
    OPENAI_API_KEY: "sk-not-to-be-spent",
    OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
  };
  const child = spawn(process.execPath, [join(ROOT, "local/demo/demo.ts"), ...args], { cwd: ROOT, env });
  const said = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    said.out += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    said.err += chunk;
  });
  const code = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, said, code };
}

const pidsIn = (text: string): number[] =>
  [...text.matchAll(/\s(?:model|worker)\s+pid (\d+)/g)].map((hit) => Number(hit[1]));

describe("npm run demo", () => {
  test("I5: is killed twice and edited once, pays for no recorded answer again, and ends what it started", async () => {
    const demo = startDemo("--json");
    const code = await demo.code;
    const told = JSON.parse(demo.said.out) as ReturnType<typeof reportJson>;
    expect([code, told.faults]).toEqual([0, []]);
    expect(told.status).toBe("completed");
    expect(told.quotes.checked).toBeGreaterThanOrEqual(3);
    expect(told.quotes.wrong).toEqual([]);

    const recorded = told.receipt.modelCalls;
    // The writer's answer may get onto the record in the moment of its worker's death: then the edit cuts it, and it stays paid.
    const lost = told.kills.reduce((sum, { inFlight }) => sum + inFlight, 0);
    expect(told.kills).toMatchObject([{ when: "researchers", ended: 2, of: 3, inFlight: 1 }, { when: "writer" }]);
    expect(told.edited).toMatchObject({ replayed: recorded - 1 - (2 - lost), paid: 1 });
    expect(told.books).toEqual({ ledger: recorded + lost, recorded, inFlight: lost, repaid: 0, agree: true });
    expect(told.receipt).toMatchObject({ repaid: 0, unanswered: lost });
    expect(told.receipt.replayed).toBeGreaterThan(0);
    expect(told.simulated).toBe(true);

    expect(demo.said.err).toMatch(/not used\s+OPENAI_API_KEY, OPENAI_BASE_URL/);
    const pids = pidsIn(demo.said.err);
    expect(pids).toEqual([told.pids.modelServer, ...told.pids.workers]);
    expect(pids).toHaveLength(4);
    expect(pids.filter(isRunning)).toEqual([]);
  }, 90_000);

  test("Ctrl-C ends what it started, and the next demo ends the run that it left", async () => {
    const demo = startDemo();
    await until(() => / run {8}/.test(demo.said.out), 40_000);
    demo.child.kill("SIGINT");
    expect(await demo.code).toBe(130);
    const pids = pidsIn(demo.said.out);
    expect(pids).toHaveLength(2);
    expect(pids.filter(isRunning)).toEqual([]);

    const next = startDemo();
    await until(() => / run {8}/.test(next.said.out), 60_000);
    next.child.kill("SIGINT");
    expect(await next.code).toBe(130);
    expect(next.said.out).toMatch(/earlier\s+the demo before left [0-9a-f]{8} unfinished/);
  }, 120_000);

  test.each([
    [["--files", "no/such/folder"], 2, "There is no file or folder at no/such/folder."],
    [["--question", " "], 2, "The question is empty."],
    [["--model", "nobody/model"], 2, 'There is no provider "nobody".'],
    [["--faster"], 2, "unknown option '--faster'"],
  ])("refuses %j", async (args, status, why) => {
    const demo = startDemo(...args);
    expect(await demo.code).toBe(status);
    expect(demo.said.err).toContain(why);
  });
});
