import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";

const MAIN = new URL("../../../local/model-server/main.ts", import.meta.url).pathname;

let folder: string;
let running: ChildProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "model-server-"));
  running = [];
});
afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

async function start(...args: string[]) {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  running.push(child);
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return { child, ready: JSON.parse(line) as { url: string; pid: number; kind: string } };
}

async function ask(url: string): Promise<void> {
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] });
  await (await fetch(`${url}/chat/completions`, { method: "POST", body })).text();
}

describe("the program", () => {
  test("prints one line when it is ready, that says what it is, and ends on SIGTERM", async () => {
    const { child, ready } = await start("--latency", "0-0");
    expect(ready).toMatchObject({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/v1$/),
      pid: child.pid,
      kind: expect.stringContaining("rule-based"),
    });
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test("a killed server finds its count again", async () => {
    const ledger = join(folder, "ledger.jsonl");
    const first = await start("--ledger", ledger, "--latency", "0");
    await ask(first.ready.url);
    first.child.kill("SIGKILL");
    await once(first.child, "exit");

    const second = await start("--ledger", ledger, "--latency", "0");
    await ask(second.ready.url);
    const entries = await (await fetch(new URL("/ledger", second.ready.url))).json();
    expect(entries).toMatchObject([
      { n: 1, status: 200 },
      { n: 2, status: 200 },
    ]);
  });
});
