// An AWS on loopback: one that runs already (TOREN_TEST_AWS_URL), or a fresh one by emulator/start.sh, which needs no Docker.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface Emulator {
  readonly url: string;
  stop(): Promise<void>;
}

const START = resolve(import.meta.dirname, "../emulator/start.sh");
/** The first start builds a cache. */
const START_MS = 10 * 60_000;

/** `callsFile` gets a line for each call of AWS that a function makes (emulator/recorder.py); an emulator that runs already writes where it was told to. */
export async function openEmulator(callsFile: string): Promise<Emulator> {
  const running = process.env.TOREN_TEST_AWS_URL;
  if (running) return { url: running, stop: async () => {} };
  const port = await freePort();
  const log = join(tmpdir(), `toren-aws-emulator-${port}.log`);
  const child = spawn("bash", [START, process.env.TOREN_TEST_AWS ?? "localemu", String(port)], {
    // It ends with its standard input: whatever becomes of this process, no emulator is left behind.
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, EMULATOR_NODE: process.execPath, HOSTEXEC_CALLS: callsFile },
  });
  const out = createWriteStream(log);
  child.stdout.pipe(out);
  child.stderr.pipe(out);
  const url = `http://127.0.0.1:${port}`;
  await ready(url, child, log);
  return { url, stop: () => stop(child) };
}

async function ready(url: string, child: ChildProcess, log: string): Promise<void> {
  const deadline = Date.now() + START_MS;
  while (!(await answers(url))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill();
      throw new Error(
        `the AWS emulator did not start: ${log} says why. It needs Python 3.13, Go, cmake and a C++ compiler.`,
      );
    }
    await sleep(500);
  }
}

async function answers(url: string): Promise<boolean> {
  for (const name of ["_localemu", "_localstack"]) {
    const answer = await fetch(`${url}/${name}/health`).catch(() => null);
    if (answer?.ok === true) return true;
  }
  return false;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (typeof address !== "object" || address === null) throw new Error("a listening server has an address");
  return address.port;
}
