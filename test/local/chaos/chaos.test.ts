// `toren chaos` as a person starts it: an agent with a keyed, gated tool, its workers killed, on a Postgres of the command's own.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { reportJson } from "../../../local/chaos/report.ts";
import { isRunning } from "../../../local/state.ts";
import { ROOT } from "../../repo/files.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "toren-chaos-"));
});
afterAll(async () => await rm(folder, { recursive: true, force: true }));

function chaos(...args: string[]) {
  return watched(args, () => {});
}

/** `heard`: all of stderr so far, at every piece. */
function watched(args: readonly string[], heard: (err: string) => void) {
  const env = { PATH: process.env.PATH, TOREN_HOME: folder, REFUNDS_FOLDER: join(folder, "refunds") };
  const child = spawn(process.execPath, [join(ROOT, "local/cli.ts"), "chaos", ...args], { cwd: ROOT, env });
  const said = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    said.out += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    said.err += chunk;
    heard(said.err);
  });
  return new Promise<{ code: number | null; out: string; err: string }>((resolve) =>
    child.once("close", (code) => resolve({ code, ...said })),
  );
}

test("I5: a worker is killed, the call is granted, nothing recorded is paid again", async () => {
  const { code, out, err } = await chaos(
    "approval",
    "Please refund order A-1002, 120 euros",
    "--approve",
    "--kills=1",
    "--model=demo",
    "--json",
  );
  const told = JSON.parse(out) as ReturnType<typeof reportJson>;
  expect([code, told.faults, told.status]).toEqual([0, [], "completed"]);
  expect(JSON.stringify(told.output)).toContain("120");
  expect(told.kills).toHaveLength(1);
  expect(told.receipt.repaid).toBe(0);
  expect(told.begunAgain.filter(({ external, keyed }) => external && !keyed)).toEqual([]);
  expect(err).toContain("SIGKILL");
  for (const { pid } of told.kills) expect(isRunning(pid)).toBe(false);
}, 120_000);

test("an agent that isn't there is said, and nothing stays behind", async () => {
  const { code, err } = await chaos("nobody", "x", "--model=demo");
  expect(code).toBe(2);
  expect(err).toContain("nobody");
}, 60_000);

test("a worker that ends by itself is said, and nobody waits for what is gone with it", async () => {
  let killed: number | undefined;
  let diedAt = 0;
  const args = [
    "approval",
    "Please refund order A-1002, 120 euros",
    "--approve",
    "--kills=1",
    "--model=demo",
    "--json",
  ];
  const { code, err } = await watched(args, (said) => {
    const pid = /pid (\d+) goes on with/.exec(said)?.[1];
    if (pid === undefined || killed !== undefined) return;
    killed = Number(pid);
    diedAt = performance.now();
    process.kill(killed, "SIGKILL");
  });
  expect(err).toContain(`Worker ${killed} ended by itself`);
  expect(err).not.toContain("Waiting for it");
  expect(code).not.toBe(0);
  expect(performance.now() - diedAt).toBeLessThan(30_000);
}, 120_000);
