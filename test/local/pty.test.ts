// The program as a process of its own, in a terminal (a pseudo-terminal of the operating system) and in a pipe.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { ROOT } from "../repo/files.ts";
import { type Bench, createBench } from "./harness.ts";
import { writeDeskAndShop } from "./shop.ts";

jest.setTimeout(120_000);

const model = createScriptedModel((request) => {
  const last = JSON.stringify(request.messages.at(-1));
  if (last.includes("toolResult")) return "It is paid.";
  if (last.includes("pay 5")) return { tools: [{ name: "pay", args: { cents: 5 } }] };
  return last.includes("refuse") ? { refusal: true } : "\u001b[31mred\u0007";
});

let bench: Bench;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  bench = await createBench();
  await writeDeskAndShop(bench, "session");
  await bench.serve(model);
  env = { PATH: process.env.PATH, HOME: bench.folder, DATABASE_URL: bench.databaseUrl, TERM: "xterm-256color" };
});
afterAll(() => bench.close());

interface Ended {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}
const TOREN = [process.execPath, "--no-warnings", join(ROOT, "local/cli.ts")];

function ended(command: readonly string[], input: string, more: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, { cwd: bench.folder, env: { ...env, ...more } });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  child.stdin.end(input);
  return new Promise((resolve) => child.once("close", (status) => resolve({ status, out, err })));
}

type Step = { readonly wait: string } | { readonly send: string } | { readonly resize: readonly [number, number] };
interface OnTerminal {
  readonly columns?: number;
  readonly steps?: readonly Step[];
  readonly env?: NodeJS.ProcessEnv;
}
/** What a terminal showed, its line ends as a file has them. */
async function onTerminal(
  args: readonly string[],
  { columns = 80, steps = [], env: more }: OnTerminal = {},
): Promise<Ended> {
  const pty = ["python3", join(ROOT, "test/support/terminal.py"), `${columns}`, "24", ...TOREN, ...args];
  const { status, out, err } = await ended(pty, steps.map((step) => JSON.stringify(step)).join("\n"), more);
  expect(err).toBe("");
  return { status, out: out.replaceAll("\r\n", "\n"), err };
}
const piped = (args: readonly string[], input = ""): Promise<Ended> => ended([...TOREN, ...args], input);

const COLOUR = "\u001b[3";
const CTRL_C = "\u0003";

const started = async (agent: string, input: string, ...more: string[]): Promise<string> =>
  ((await bench.json(["run", agent, input, "--detach", ...more])).value as RunJson).runId;

describe("in a terminal", () => {
  test("lists have colours, and no line is wider than it; NO_COLOR has none", async () => {
    await bench.json([
      "run",
      "echo",
      "refuse",
      "--label",
      "customer=somebody with a long name",
      "--label",
      "shop=north",
    ]);
    const wide = await onTerminal(["jobs", "list"], { columns: 160 });
    expect(wide.out).toContain(COLOUR);
    expect(wide.out).toContain("shop=north");
    const narrow = await onTerminal(["jobs", "list"], { columns: 70 });
    expect(narrow.status).toBe(0);
    expect(
      Math.max(
        ...stripVTControlCharacters(narrow.out)
          .split("\n")
          .map((line) => [...line].length),
      ),
    ).toBeLessThanOrEqual(70);
    expect((await onTerminal(["jobs", "list"], { env: { NO_COLOR: "1" } })).out).not.toContain(COLOUR);
  });

  test("help is as wide as the terminal", async () => {
    const { out } = await onTerminal(["jobs", "list", "--help"], { columns: 60 });
    expect(
      Math.max(
        ...stripVTControlCharacters(out)
          .split("\n")
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(60);
  });

  test("what a model says can't play tricks", async () => {
    const { out, status } = await onTerminal(["run", "echo", "hi"]);
    expect([status, out]).toEqual([0, expect.stringContaining("\ufffd[31mred\ufffd\n")]);
  });

  test("Ctrl-C leaves a run that goes on, with a word of how to come back, and the cursor as it was", async () => {
    const steps = [{ wait: "awaited as a signal" }, { resize: [60, 20] as const }, { send: CTRL_C }];
    const { status, out } = await onTerminal(["run", "shop", "x"], { steps });
    expect([status, stripVTControlCharacters(out)]).toEqual([
      130,
      expect.stringMatching(/Leaving run .*`toren jobs tail [0-9a-f]{8}` follows it/),
    ]);
    expect(out.lastIndexOf("\u001b[?25h")).toBeGreaterThan(out.lastIndexOf("\u001b[?25l"));
    const run = ((await bench.json(["jobs", "list", "--agent", "shop", "--limit", "1"])).value as { runs: RunJson[] })
      .runs[0];
    expect(run?.status).toBe("waitingSignal");
  });

  test("Ctrl-C leaves the log of a run", async () => {
    const id = await started("shop", "x");
    const steps = [{ wait: "SignalAwaited" }, { send: CTRL_C }];
    const { status, out } = await onTerminal(["jobs", "tail", id], { steps });
    expect([status, stripVTControlCharacters(out)]).toEqual([
      130,
      expect.stringContaining(`Leaving run ${id}: \`toren jobs tail`),
    ]);
  });

  test("Ctrl-C ends a command whose server doesn't answer", async () => {
    const server = (await import("node:net")).createServer(() => {}).listen(0, "127.0.0.1");
    await new Promise((listening) => server.once("listening", listening));
    const { port } = server.address() as { port: number };
    const more = { TOREN_URL: `http://127.0.0.1:${port}`, TOREN_API_KEY: "toren_x" };
    const asked = new Promise<void>((resolve) => server.once("connection", () => resolve()));
    const child = spawn(TOREN[0] ?? "", [...TOREN.slice(1), "jobs", "list"], { env: { ...env, ...more } });
    let err = "";
    child.stderr.on("data", (text: Buffer) => {
      err += String(text);
    });
    await asked;
    child.kill("SIGINT");
    const status = await new Promise((resolve) => child.once("close", resolve));
    server.close();
    expect([status, err]).toEqual([130, expect.stringContaining("Stopped before the server had answered")]);
  });

  test("a conversation: prompts, a call allowed with y, Ctrl-C at the prompt keeps it", async () => {
    const steps = [
      { wait: "say something" },
      { wait: "›" },
      { send: "pay 5\r" },
      { wait: "waits for approval" },
      { send: "y\r" },
      { wait: "It is paid." },
      { wait: "›" },
      { send: CTRL_C },
    ];
    const { status, out } = await onTerminal(["chat", "desk"], { steps });
    expect([status, stripVTControlCharacters(out)]).toEqual([
      130,
      expect.stringContaining("The session is kept. `toren chat --run"),
    ]);
    expect(out).toContain(COLOUR);
  });
});

describe("in a pipe", () => {
  test("--json is documents alone, without colours; all else is on stderr", async () => {
    const { runId } = (await bench.json(["run", "echo", "hi"])).value as RunJson;
    for (const args of [
      ["jobs", "list"],
      ["jobs", "tail", runId],
      ["run", "echo", "hi"],
    ]) {
      const { status, out, err } = await piped([...args, "--json"]);
      expect([args, status]).toEqual([args, 0]);
      for (const line of out.trimEnd().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
      expect(out + err).not.toContain("\u001b");
    }
    const wrong = await piped(["jobs", "show", "ffff0000", "--json"]);
    expect([wrong.status, JSON.parse(wrong.out)]).toEqual([
      2,
      { error: { code: "run.unknown", message: expect.any(String) } },
    ]);
  });

  test("a reader that goes away is no error", async () => {
    const { runId } = (await bench.json(["run", "echo", "wide ".repeat(100_000)])).value as RunJson;
    for (const args of [`jobs export ${runId}`, `jobs tail ${runId} --json --full`]) {
      const toren = TOREN.map((word) => `'${word}'`).join(" ");
      const { status, out, err } = await ended(
        ["bash", "-c", `${toren} ${args} | head -c 20; exit \${PIPESTATUS[0]}`],
        "",
      );
      expect([args, Buffer.byteLength(out), err]).toEqual([args, 20, ""]);
      expect([args, status]).toEqual([args, 0]);
    }
  });
});
