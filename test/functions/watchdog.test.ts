import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";

interface Ended {
  readonly signal: string | null;
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function worker(how: "spin" | "live"): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [join(import.meta.dirname, "watchdog-worker.ts"), how]);
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => {
    out += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    err += String(chunk);
  });
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (code, signal) => resolve({ code, signal, out, err }));
  });
  return { child, ended };
}

test("a worker whose event loop stands still is killed, and says what it was working on", async () => {
  const { signal, err } = await worker("spin").ended;
  expect(signal).toBe("SIGKILL");
  expect(err).toMatch(/event loop stood still for \d+ s; ending it\. It was working on: ticks {"runId":"r1"}\.\n$/);
});

test("a worker whose event loop turns lives on, and ends when its work does", async () => {
  const { signal, code, out, err } = await worker("live").ended;
  expect({ signal, code, out, err }).toEqual({ signal: null, code: 0, out: "working\ndone\n", err: "" });
});

test("a worker that was stopped as a whole was not hanging", async () => {
  const { child, ended } = worker("live");
  await new Promise((resolve) => child.stdout?.once("data", resolve));
  for (let pauses = 0; pauses < 5; pauses++) {
    // Which thread is first to run afterwards is chance: hence more than once.
    child.kill("SIGSTOP");
    await sleep(700);
    child.kill("SIGCONT");
    await sleep(60);
  }
  expect(await ended).toMatchObject({ signal: null, code: 0, err: "" });
});
