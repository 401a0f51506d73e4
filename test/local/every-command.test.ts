// Over 300 lines: one server for all of it. Every command of the program, with every option that it has: on a laptop, and against a server elsewhere that is known by its address and a key alone.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { Command } from "commander";
import pg from "pg";
import { programFor } from "../../local/cli.ts";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { newKey } from "../../shared/http/auth.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { type Bench, createBench, type Outcome } from "./harness.ts";
import { writeDeskAndShop } from "./shop.ts";

jest.setTimeout(120_000);

const TALK = `name: talk
description: Talks.
mode: session
roles:
  main: { model: mock/script, system: You talk. }
`;

let refusing = true;
const model = createScriptedModel((request) => {
  const last = JSON.stringify(request.messages.at(-1));
  if (last.includes("fails at first") && refusing) return { refusal: true };
  if (last.includes("pay 5")) return { tools: [{ name: "pay", args: { cents: 5 } }] };
  return "done";
});

/** Everything that the program has: `jobs list --agent`, and `jobs list` for the command itself. */
const all = new Set<string>();
const ran = new Set<string>();
const nothing = { write: () => {}, size: () => null, colour: false };
const program = programFor({
  terminal: {
    out: nothing,
    err: nothing,
    env: {},
    workingFolder: "/",
    readInput: async () => "",
    lines: { interactive: false, next: async () => ({ type: "end" }) },
    user: "ann",
    interrupted: new AbortController().signal,
  },
  run: async () => {},
});
for (const command of program.commands)
  for (const each of command.commands.length === 0 ? [command] : command.commands) {
    const name = each === command ? command.name() : `${command.name()} ${each.name()}`;
    all.add(name);
    for (const option of each.options) all.add(`${name} ${option.long}`);
  }

/** Notes what a command line uses of the program. */
function note(args: readonly string[]): void {
  let command: Command = program;
  const words = [...args];
  while (command.commands.length > 0) {
    const next = command.commands.find((c) => c.name() === words[0]);
    if (next === undefined) return;
    command = next;
    words.shift();
  }
  const name = args.slice(0, args.length - words.length).join(" ");
  ran.add(name);
  for (const word of words) if (word.startsWith("--")) ran.add(`${name} ${word}`);
}

let bench: Bench;
let pool: pg.Pool;
let away: string;
let remote: NodeJS.ProcessEnv;
const laptop: NodeJS.ProcessEnv = {};
beforeAll(async () => {
  bench = await createBench();
  await writeDeskAndShop(bench, "task");
  await bench.write("agents/talk/agent.yaml", TALK);
  const { record } = await bench.serve(model);
  pool = new pg.Pool({ connectionString: bench.databaseUrl, max: 1 });
  away = await mkdtemp(join(tmpdir(), "toren-away-"));
  // A machine that has never seen the installation: no state folder, no database, no agents.
  remote = { TOREN_URL: record.url, TOREN_HOME: away, DATABASE_URL: "" };
  const { value } = await bench.json(["keys", "create", "ann's", "--scope", "admin"]);
  remote.TOREN_API_KEY = (value as { key: string }).key;
});
afterAll(async () => {
  await pool.end();
  await bench.close();
  await rm(away, { recursive: true, force: true });
});

const call = (args: readonly string[], more: Parameters<Bench["toren"]>[1] = {}): Promise<Outcome> => {
  note(args);
  return bench.toren(args, more);
};

describe.each([
  ["on the laptop", () => laptop],
  ["against a server elsewhere", () => remote],
] as const)("%s", (_, environment) => {
  /** Must do what it says; with `--json` once more, where it can be said twice. */
  const does = async (...args: string[]): Promise<string> => {
    const { status, out, err } = await call(args, { env: environment() });
    expect([args, status, err]).toEqual([args, 0, expect.any(String)]);
    return out;
  };
  const json = async <T>(...args: string[]): Promise<T> => {
    const { status, out } = await call([...args, "--json"], { env: environment() });
    expect([args, status, status === 0 ? "" : out]).toEqual([args, 0, ""]);
    expect(out).toMatch(/^[^\n]+\n$/);
    expect(out).not.toContain("\u001b");
    return JSON.parse(out) as T;
  };
  const started = async (agent: string, input: string, ...more: string[]): Promise<string> =>
    (await json<{ runId: string }>("run", agent, input, "--detach", ...more)).runId;
  const become = async (runId: string, status: RunJson["status"]): Promise<RunJson> => {
    for (;;) {
      const run = await json<RunJson>("jobs", "show", runId);
      if (run.status === status) return run;
      await sleep(25);
    }
  };

  test("run, jobs list and show, with labels, words, times", async () => {
    const caps = ["--max-cost", "5", "--max-tokens", "900000"];
    await writeFile(join(bench.folder, "note.txt"), "a note");
    const files = ["--files", join(bench.folder, "note.txt")];
    const labels = ["--label", "customer=42", "--label", "kind=first=try"];
    const run = await json<{ runId: string }>(
      "run",
      "echo",
      "marmalade",
      "--process",
      "main",
      ...caps,
      ...labels,
      ...files,
    );
    const one = { agent: "echo", attributes: { customer: "42", kind: "first=try" }, status: "completed" };
    const list = async (...args: string[]): Promise<RunJson[]> =>
      (await json<{ runs: RunJson[] }>("jobs", "list", ...args)).runs.filter(({ runId }) => runId === run.runId);
    for (const fits of [
      ["--label", "customer=42", "--label", "kind=first=try"],
      ["--text", "marm"],
      ["--text", run.runId.slice(0, 8)],
      ["--agent", "crew", "--agent", "echo"],
      ["--status", "failed", "--status", "completed", "--process", "main"],
      ["--since", "1h"],
      ["--since", "2026-01-01T00:00:00Z", "--until", "2999-01-01", "--limit", "200"],
    ])
      expect([fits, await list(...fits)]).toEqual([fits, [expect.objectContaining(one)]]);
    for (const other of [
      ["--label", "customer=4"],
      ["--text", "jam"],
      ["--process", "other"],
      ["--until", "1h"],
    ])
      expect([other, await list(...other)]).toEqual([other, []]);
    const first = await json<{ next: string }>("jobs", "list", "--limit", "1");
    if (first.next !== null) await json("jobs", "list", "--limit", "1", "--cursor", first.next);
    expect(await does("jobs", "list")).toMatch(/✔ .*echo .*completed .*customer=42 {2}kind=first=try/);
    expect(await does("jobs", "show", run.runId, "--turns", "3")).toContain("customer=42");
    expect(await does("jobs", "tail", run.runId, "--stream", "task:w0t0")).toContain("TaskCompleted");
    const { out } = await call(["jobs", "tail", run.runId, "--json", "--full"], { env: environment() });
    expect(
      out
        .trimEnd()
        .split("\n")
        .map((line) => (JSON.parse(line) as { type: string }).type),
    ).toContain("RunCompleted");
    expect((await does("jobs", "export", run.runId)).split("\n").length).toBeGreaterThan(5);
    expect(await json<unknown>("jobs", "erase", run.runId, "--yes")).toEqual({ erased: run.runId });
  });

  test("what a filter can't be is refused with what it is", async () => {
    for (const [args, says] of [
      [["--label", "customer"], "key=value"],
      [["--label", "9=x"], "begins with a letter"],
      [["--label", "a=1", "--label", "a=2"], "given twice"],
      [["--since", "yesterday"], "Write a length of time"],
      [["--status", "complete"], 'Did you mean "completed"?'],
      [["--cursor", "made-up"], "cursor"],
      [["--agent", "ecko"], 'Did you mean "echo"?'],
    ] as const) {
      const { status, err } = await call(["jobs", "list", ...args], { env: environment() });
      expect([args, status]).toEqual([args, 2]);
      expect(err).toContain(says);
    }
  });

  test("what people decide: approve, deny, signal, send, cancel", async () => {
    const [granted, denied] = [await started("desk", "pay 5"), await started("desk", "pay 5")];
    for (const [id, verb, by] of [
      [granted, "approve", "ok"],
      [denied, "deny", "no"],
    ] as const) {
      const { approvals } = await become(id, "waitingApproval");
      await json("jobs", verb, id, "--call", approvals[0]?.call ?? "", "--comment", by);
      await become(id, "completed");
    }
    const shop = await started("shop", "wait");
    await become(shop, "waitingSignal");
    await json("jobs", "signal", shop, "paid", "soon", "--text");
    expect((await become(shop, "completed")).output).toBe("soon");
    const talk = await started("talk", "hello");
    await become(talk, "awaitingInput");
    await json("jobs", "send", talk, "more", "--steer");
    const chat = await call(["chat", "talk", "--run", talk, "--json"], {
      env: environment(),
      input: "again\n/close\n",
    });
    expect(chat.out).toContain('"type":"ended","status":"completed"');
    const other = await started("talk", "hello", "--process", "main");
    await become(other, "awaitingInput");
    await json("jobs", "send", other, "--close");
    await become(other, "completed");
    const gone = await started("shop", "wait");
    await json("jobs", "resume", gone); // a nudge
    await json("jobs", "cancel", gone, "--reason", "never mind");
    await become(gone, "cancelled");
  });

  test("a cut that waits is decided", async () => {
    for (const how of ["--rerun", "--keep"]) {
      const run = await started("shop", "wait");
      await become(run, "waitingSignal");
      const { status, err } = await call(["jobs", "resume", run, how], { env: environment() });
      expect([status, err]).toEqual([2, expect.stringContaining("cut.not_waiting")]); // people.test.ts has those that wait
      await json("jobs", "cancel", run);
    }
  });

  test("retry and fork; show says so", async () => {
    refusing = true;
    const caps = ["--max-cost", "5", "--max-tokens", "900000"];
    const run = await started("echo", "fails at first", ...caps);
    await become(run, "failed");
    refusing = false;
    await json("jobs", "retry", run, "--max-cost", "6", "--max-tokens", "950000");
    await become(run, "completed");
    expect(await does("jobs", "show", run)).toContain("\n  retried once\n");
    const fork = await json<{ runId: string }>("jobs", "fork", run, "--from", "w0t0", "--rerun");
    await become(fork.runId, "completed");
    expect(await does("jobs", "show", fork.runId)).toContain(`\n  forked from ${run}\n`);
  });

  test("files, dead letters, keys, schedules, prune", async () => {
    await writeFile(join(bench.folder, "other.txt"), `another ${String(environment() === remote)}`);
    const { files } = await json<{ files: { id: string }[] }>("files", "add", join(bench.folder, "other.txt"));
    await json("files", "list", "--limit", "5");
    expect(await does("files", "list")).toContain("other.txt");
    await json("files", "rm", files[0]?.id ?? "");
    const dead = async (id: string): Promise<void> => {
      const body = JSON.stringify({ agent: "echo", runId: "01980f2e-0000-4000-8000-000000000000", taskId: null });
      await pool.query(
        "INSERT INTO toren_control.dead_letters (message_id, queue, body, receive_count) VALUES ($1, 'ticks', $2, 5)",
        [id, body],
      );
    };
    for (const id of ["d1", "d2", "d3"]) await dead(id);
    expect((await json<{ deadLetters: unknown[] }>("dead-letters", "list", "--limit", "5")).deadLetters).toHaveLength(
      3,
    );
    await json("dead-letters", "show", "d1");
    await json("dead-letters", "send", "d1");
    await json("dead-letters", "send", "--all");
    await dead("d4");
    await json("dead-letters", "drop", "--all");
    const key = await json<{ id: string }>(
      "keys",
      "create",
      "x",
      "--scope",
      "read",
      "--agent",
      "echo",
      "--expires",
      "1h",
    );
    await json("keys", "list");
    await json("keys", "revoke", key.id);
    const when = ["--cron", "0 6 * * *", "--zone", "Asia/Tokyo", "--catch-up", "none", "--process", "main"];
    const made = await json<{ id: string }>("schedules", "add", "echo", "{}", ...when, "--name", "n", "--input-json");
    await json("schedules", "list");
    await json("schedules", "next", made.id, "--count", "2");
    for (const verb of ["pause", "resume", "rm"]) await json("schedules", verb, made.id);
    expect(await json("prune", "--older-than", "90d", "--agent", "echo", "--dry-run")).toEqual({
      runs: 0,
      events: 0,
      dryRun: true,
    });
  });

  test("smoke goes through it", async () => {
    expect(await json("smoke", "--agent", "echo", "--input", "hi", "--timeout", "60")).toMatchObject({ ok: true });
  });
});

describe("servers, and what concerns this machine", () => {
  /** Runs until it says that it is ready, then as by Ctrl-C. */
  const untilReady = async (args: readonly string[], env: NodeJS.ProcessEnv): Promise<Outcome> => {
    const stop = new AbortController();
    const written = { out: "", err: "" };
    const ended = call([...args, "--json"], { env, signal: stop.signal, written });
    while (!written.out.includes("\n")) {
      if ((await Promise.race([ended, sleep(25)])) !== undefined) break;
    }
    stop.abort();
    return ended;
  };
  const served = (): readonly string[] => ["--agents", "served", "--model", "demo"];

  test("init, migrate, serve, worker, dev, model-server, doctor", async () => {
    await mkdir(join(bench.folder, "served/host"), { recursive: true });
    await bench.write(
      "served/host/agent.yaml",
      "name: host\ndescription: Hosts.\nmodel: openai/gpt-5-mini\nsystem: You host.\n",
    );
    const own = { DATABASE_URL: bench.databaseUrl, TOREN_HOME: join(bench.folder, "own"), TOREN_API_KEY: newKey() };
    expect(await call(["migrate", ...served(), "--json"], { env: own })).toMatchObject({ status: 0 });
    const port = ["--port", "0"];
    for (const args of [
      ["serve", "--host", "127.0.0.1", ...port, "--tasks", "2", ...served()],
      ["serve", ...port, "--no-worker", ...served()],
      ["worker", "--tasks", "2", ...served()],
      ["dev", ...port, "--no-worker", ...served()],
      ["model-server", ...port, "--ledger", join(bench.folder, "ledger.jsonl")],
    ]) {
      const { status, out, err } = await untilReady(args, own);
      expect([args, status, err]).toEqual([args, 0, expect.any(String)]);
      expect(() => JSON.parse(out)).not.toThrow();
    }
    for (const args of [["worker", ...served()], ["model-server"]])
      expect((await call([...args, "--until-input-ends", "--json"], { env: own })).status).toBe(0);
    const local = [...served(), "--json"];
    expect(await call(["run", "host", "hi", ...local], { env: own })).toMatchObject({ status: 0 });
    expect((await call(["chat", "host", "--process", "main", ...local], { env: own })).err).toContain(
      "no conversation",
    );
    expect((await call(["plan", "--agent", "host", ...served(), "--json"], { env: own })).out).toContain('"runs":[]');
    expect((await call(["doctor", "--agents", "served", "--json"], { env: own })).out).toContain('"psql"');
    expect((await call(["doctor", "--aws", "Nowhere", "--json"], { env: { ...own, AWS_REGION: "" } })).status).not.toBe(
      0,
    );
    expect((await call(["init", join(bench.folder, "fresh"), "--json"], { env: own })).status).toBe(0);
  });
});

test("no command and no option of the program was left out", () => {
  const elsewhere = [
    "doctor --aws", // commands/doctor-aws.test.ts has a stack to look at
    "chaos", // chaos/chaos.test.ts kills workers with it
  ];
  const isElsewhere = (name: string): boolean => elsewhere.some((one) => name === one || name.startsWith(`${one} `));
  const least = [...all].filter((name) => !name.endsWith(" --json") && !isElsewhere(name));
  expect(least.filter((name) => !ran.has(name))).toEqual([]);
});
