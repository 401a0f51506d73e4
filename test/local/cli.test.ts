// Over 300 lines: one server for all of them. The command line against it.
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { type Bench, createBench } from "./harness.ts";

const textOf = (request: ModelRequest): string => JSON.stringify(request.messages);

/** Calls that wait for `release`, as they were asked to. */
const held = new Set<() => void>();
const release = async (): Promise<void> => {
  while (held.size === 0) await sleep(20);
  for (const go of held) go();
};
const HUGE_CHARS = 3_000_000;
let refusing = false;
const model = createScriptedModel(async (request, _n, signal) => {
  const text = textOf(request);
  if (text.includes("huge")) return "y".repeat(HUGE_CHARS);
  if (text.includes("sometimes") && refusing) return { refusal: true };
  if (text.includes("refuse")) return { refusal: true };
  if (text.includes("wait")) {
    const { promise, resolve } = Promise.withResolvers<void>();
    held.add(resolve);
    signal.addEventListener("abort", () => resolve());
    await promise;
    held.delete(resolve);
  }
  if (text.includes("control")) return "a\u0000b \u001b[31mred";
  return `echo of ${request.system}`;
});

let bench: Bench;
beforeAll(async () => {
  bench = await createBench();
  await bench.serve(model);
});
afterAll(() => bench.close());

const runId = async (): Promise<string> => {
  const { value } = await bench.json(["run", "echo", "wait for it", "--detach"]);
  return (value as { runId: string }).runId;
};

test("--version says which one it is, and help lists every exit code", async () => {
  const { status, out } = await bench.toren(["--version"]);
  expect([status, out]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  expect((await bench.toren(["--help"])).out).toMatch(/0 done.*1 .*2 .*3 .*\n130 /);
});

test("jobs list --agent with a mistyped name is usage", async () => {
  const { status, err } = await bench.toren(["jobs", "list", "--agent", "crwe"]);
  expect([status, err]).toEqual([2, expect.stringContaining('There is no agent "crwe". Did you mean "crew"?')]);
});

describe("toren jobs retry", () => {
  test("a failed run goes on, and ends as completed", async () => {
    refusing = true;
    const { value: failed } = await bench.json(["run", "echo", "sometimes"]);
    const { runId: id, status } = failed as RunJson;
    expect(status).toBe("failed");
    refusing = false;
    const { status: exit, err } = await bench.toren(["jobs", "retry", id.slice(0, 13)]);
    expect([exit, err]).toEqual([0, `Run ${id} has been retried.\n`]);
    let run: RunJson;
    do {
      await sleep(20);
      run = (await bench.json(["jobs", "show", id])).value;
    } while (run.endedAt === null);
    expect(run).toMatchObject({ status: "completed", retries: 1, receipt: { modelCalls: 2, repaid: 0 } });
    const again = await bench.json(["jobs", "retry", id]);
    expect(again).toEqual({
      status: 2,
      value: { error: { code: "run.not_failed", message: expect.stringContaining("jobs fork") } },
    });
  });

  test("a cap that there isn't can't be raised", async () => {
    const { value } = await bench.json(["run", "echo", "refuse"]);
    const raised = await bench.toren(["jobs", "retry", (value as RunJson).runId, "--max-cost", "2"]);
    expect([raised.status, raised.err]).toEqual([2, expect.stringContaining("has no cap maxCostUsd")]);
    expect((await bench.toren(["jobs", "retry", (value as RunJson).runId, "--max-tokens", "few"])).status).toBe(2);
  });
});

describe("toren jobs fork and export", () => {
  test("a fork is a run of its own, and its recorded answers cost nothing", async () => {
    const { value } = await bench.json(["run", "crew", "dig"]);
    const { runId: source } = value as RunJson;
    const { status, out, err } = await bench.toren(["jobs", "fork", source, "--from", "w1"]);
    const id = out.trim();
    expect([status, err]).toEqual([0, expect.stringContaining(`toren jobs tail ${id}`)]);
    await bench.toren(["jobs", "tail", id]);
    const run = (await bench.json(["jobs", "show", id])).value as RunJson;
    expect(run).toMatchObject({ status: "completed", forkedFrom: source, receipt: { modelCalls: 1, replayed: 2 } });
    const wrong = await bench.json(["jobs", "fork", source, "--from", "w9"]);
    expect(wrong).toEqual({
      status: 2,
      value: { error: { code: "fork.unknown_place", message: expect.stringContaining("w0 (dig)") } },
    });
  });

  test("an export has every row of the run, whole values too", async () => {
    const large = "wide ".repeat(100_000);
    const { value } = await bench.json(["run", "echo", large]);
    const { runId: id } = value as RunJson;
    const { status, out } = await bench.toren(["jobs", "export", id]);
    expect(status).toBe(0);
    const lines = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { table: string; row: Record<string, unknown> });
    const counts = Object.fromEntries(
      [...Map.groupBy(lines, (l) => l.table)].map(([table, rows]) => [table, rows.length]),
    );
    expect(counts).toEqual({
      runs: 1,
      streams: 2,
      waves: 1,
      task_specs: 1,
      inbox: 1,
      events: 9,
      blobs: 4,
      request_headers: 1,
    });
    const parts = lines.filter((l) => l.table === "blobs").map((l) => l.row);
    expect(JSON.parse(parts.map((p) => p.text).join(""))).toBe(large);
    expect(lines.filter((l) => l.table === "events").map((l) => l.row.type)).toContain("LlmCallCompleted");
    const { value: second } = await bench.json(["run", "echo", "huge"]); // of more pages than one
    const huge = (await bench.toren(["jobs", "export", (second as RunJson).runId])).out.trimEnd().split("\n");
    const rows = huge.map((line) => JSON.parse(line) as { table: string; row: { hash: string; text: string } });
    const blobs = Map.groupBy(
      rows.filter((l) => l.table === "blobs"),
      (l) => l.row.hash,
    );
    const texts = [...blobs.values()].map((some) => JSON.parse(some.map((l) => l.row.text).join("")));
    expect(texts).toContain("y".repeat(HUGE_CHARS));
    expect((await bench.toren(["jobs", "export", id, "--json"])).out).toBe(out);
    expect((await bench.toren(["jobs", "export", "00000000-0000-4000-8000-000000000000"])).status).toBe(2);
  });
});

describe("toren prune and jobs erase", () => {
  test("old runs are counted, then erased; one run only when it is meant", async () => {
    const { value } = await bench.json(["run", "echo", "to be forgotten"]);
    const { runId: id } = value as RunJson;
    expect((await bench.toren(["prune"])).status).toBe(2);
    expect((await bench.toren(["prune", "--older-than", "soon"])).status).toBe(2);
    expect(await bench.json(["prune", "--older-than", "1d", "--dry-run"])).toEqual({
      status: 0,
      value: { runs: 0, events: 0, dryRun: true },
    });
    expect((await bench.toren(["prune", "--older-than", "1d", "--agent", "nobody"])).status).toBe(2);
    expect((await bench.toren(["jobs", "erase", id])).status).toBe(2);
    expect((await bench.json(["jobs", "erase", id, "--yes"])).value).toEqual({ erased: id });
    expect((await bench.json(["jobs", "show", id])).value).toMatchObject({ error: { code: "run.unknown" } });
    const { value: second } = await bench.json(["run", "crew", "old"]);
    await sleep(1_100);
    const gone = await bench.toren(["prune", "--older-than", "1s", "--agent", "crew"]);
    expect([gone.status, gone.err]).toEqual([0, expect.stringMatching(/^\d+ runs? with \d+ events erased\.\n$/)]);
    expect((await bench.json(["jobs", "show", (second as RunJson).runId])).status).toBe(2);
  });
});

describe("toren run", () => {
  test("a provider that there isn't is refused at once", async () => {
    const { status, err } = await bench.toren(["run", "echo", "x", "--model", "opnai/bar"]);
    expect([status, err]).toEqual([2, expect.stringContaining('There is no provider "opnai". Did you mean "openai"?')]);
  });

  test("--json prints one document with the run, what it used, and its receipt", async () => {
    const { status, value } = await bench.json(["run", "echo", "hello"]);
    expect(status).toBe(0);
    expect(value).toEqual({
      runId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: "completed",
      output: "echo of You answer.",
      usage: { input: expect.any(Number), cacheRead: 0, cacheWrite: 0, output: expect.any(Number), reasoning: 0 },
      costUsd: expect.any(Number),
      simulated: true,
      receipt: { modelCalls: 1, replayed: 0, repaid: 0, savedTokens: 0, savedUsd: 0 },
    });
  });

  test("the answer goes to stdout, everything else to stderr; scripted prices are called simulated", async () => {
    const { status, out, err } = await bench.toren(["run", "crew", "dig"]);
    expect(status).toBe(0);
    expect(out).toBe("echo of You write.\n");
    expect(err).toMatch(/w0t1 worker \(dig\) done/);
    expect(err).toMatch(/3 model calls · .* · simulated \$0\.\d+/);
    expect(err).toContain("replayed 0 · re-paid 0");
  });

  test("a failed run is exit 1, with its error in the document", async () => {
    const { status, value } = await bench.json(["run", "echo", "refuse this"]);
    expect(status).toBe(1);
    expect(value).toMatchObject({
      status: "failed",
      output: null,
      error: { code: expect.any(String), message: expect.any(String) },
    });
    const { out, err } = await bench.toren(["run", "echo", "refuse this"]);
    expect(out).toBe("");
    expect(err).toMatch(/run \w{8} failed \(/);
  });

  test("the input can come from the standard input or a file", async () => {
    await bench.write("question.txt", "héllo\n");
    const inputs: unknown[] = [];
    for (const [args, input] of [
      [["-"], "from a pipe\n"],
      [["@question.txt"], ""],
    ] as const) {
      const answer = await bench.toren(["run", "echo", args[0].replace("@", `@${bench.folder}/`), "--json"], { input });
      const { runId } = JSON.parse(answer.out) as { runId: string };
      inputs.push(((await bench.json(["jobs", "show", runId])).value as RunJson).input);
    }
    expect(inputs).toEqual(["from a pipe\n", "héllo\n"]);
  });

  test("a file that isn't text is no input", async () => {
    await writeFile(join(bench.folder, "latin.txt"), Buffer.from("caf\xe9", "latin1"));
    const { status, err } = await bench.toren(["run", "echo", `@${bench.folder}/latin.txt`]);
    expect([status, err]).toEqual([2, expect.stringContaining("isn't text: it is not valid UTF-8")]);
  });

  test("--files uploads a folder's files, hidden ones left out, and a wrong path is usage", async () => {
    await bench.write("docs/a.txt", "alpha");
    await bench.write("docs/deep/b.md", "# beta");
    await bench.write("docs/.secret", "no");
    const { status } = await bench.json(["run", "echo", "read", "--files", join(bench.folder, "docs")]);
    expect(status).toBe(0);
    const wrong = await bench.toren(["run", "echo", "read", "--files", "/nowhere/at/all"]);
    expect(wrong).toMatchObject({ status: 2, out: "" });
    expect(wrong.err).toContain("/nowhere/at/all");
    const endless = await bench.toren(["run", "echo", "read", "--files", "/dev/zero"]);
    expect(endless).toMatchObject({ status: 2, err: expect.stringContaining("neither a file nor a folder") });
  });

  test.each([
    [["run", "ecko", "x"], "agent.unknown", 'Did you mean "echo"?'],
    [["run", "crew", "x", "--process", "mai"], "process.unknown", 'Did you mean "main"?'],
  ])("%j is exit 2 with what was probably meant", async (args, code, hint) => {
    const { status, out, err } = await bench.toren(args);
    expect({ status, out }).toEqual({ status: 2, out: "" });
    expect(err).toContain(code);
    expect(err).toContain(hint);
    expect(err).not.toMatch(/\n\s+at /);
    expect((await bench.json(args)).value).toEqual({ error: { code, message: expect.stringContaining(hint) } });
  });

  test("--model can't be had of a server with models of its own", async () => {
    const { status, err } = await bench.toren(["run", "echo", "x", "--model", "openai/other"]);
    expect(status).toBe(2);
    expect(err).toContain("toren dev --model openai/other");
  });

  test("Ctrl-C leaves the run to its server, and says how to follow it", async () => {
    const interruption = new AbortController();
    const running = bench.toren(["run", "echo", "wait here"], { signal: interruption.signal });
    setTimeout(() => interruption.abort(), 500);
    const { status, err } = await running;
    expect(status).toBe(130);
    expect(err).toMatch(/goes on without us: `toren jobs tail \w{8}`/);
    await release();
  });
});

describe("toren jobs", () => {
  test("list, show and tail agree on a run; the beginning of its id is enough", async () => {
    const { value } = await bench.json(["run", "crew", "dig"]);
    const { runId } = value as { runId: string };
    const { runs } = (await bench.json(["jobs", "list", "--agent", "crew", "--status", "completed"])).value as {
      runs: RunJson[];
    };
    expect(runs.map((run) => run.runId)).toContain(runId);
    const show = await bench.toren(["jobs", "show", runId.slice(0, 8)]);
    expect(show.status).toBe(0);
    expect(show.out).toMatch(/✔ crew {2}completed in/);
    expect(show.out).toMatch(/✔ dig {2}2 of 2 +2 calls +\d+ tokens +\$0\.\d{4}/);
    const tail = await bench.toren(["jobs", "tail", runId, "--json"]);
    expect(tail.status).toBe(0);
    const events = tail.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { stream: string; seq: number; type: string });
    expect(events[0]).toMatchObject({ stream: "run", seq: 1, type: "RunCreated" });
    expect(events.at(-1)).toMatchObject({ stream: "run", type: "RunCompleted" });
    expect(events.filter((e) => e.type === "LlmCallCompleted")).toHaveLength(3);
    expect(new Set(events.map((e) => `${e.stream} ${e.seq}`)).size).toBe(events.length);
  });

  test("cancel stops a waiting run, which tail and show then tell; again is refused", async () => {
    const id = await runId();
    const tailing = bench.toren(["jobs", "tail", id]);
    expect((await bench.json(["jobs", "cancel", id, "--reason", "wrong question"])).value).toEqual({ runId: id });
    const tail = await tailing;
    expect(tail.status).toBe(1);
    expect(tail.out).toMatch(/RunCancelled +run\.cancelled: .*wrong question/);
    const show = (await bench.json(["jobs", "show", id])).value as RunJson;
    expect(show).toMatchObject({ status: "cancelled", error: { code: "run.cancelled" } });
    const again = await bench.toren(["jobs", "cancel", id]);
    expect(again.status).toBe(2);
    expect(again.err).toContain("run.ended");
    expect((await bench.toren(["jobs", "resume", id])).err).toContain("run.ended");
  });

  test("resume nudges a run that lives", async () => {
    const id = await runId();
    expect((await bench.json(["jobs", "resume", id])).value).toEqual({ runId: id });
    await release();
    expect((await bench.toren(["jobs", "tail", id])).status).toBe(0);
  });

  test("a usage error names the command whose help says more, and can't play tricks on a terminal", async () => {
    expect((await bench.toren(["jobs", "show"])).err).toContain("(toren jobs show --help says more)");
    expect((await bench.toren(["--nonsense"])).err).toContain("(toren --help says more)");
    expect((await bench.toren(["jobs", "show", "\u001b[31mred"])).err).not.toContain("\u001b[31mred");
  });

  test("an id that no run has is exit 2", async () => {
    for (const id of ["ffffffff", "nonsense", "00000000-0000-4000-8000-000000000000"]) {
      const { status, err } = await bench.toren(["jobs", "show", id]);
      expect([id, status]).toEqual([id, 2]);
      expect(err).toContain("run.unknown");
    }
  });

  test("an output can't play tricks on a terminal, and is whole in JSON", async () => {
    const { value } = await bench.json(["run", "echo", "control"]);
    expect((value as { output: string }).output).toBe("a\u0000b \u001b[31mred");
  });
});

describe("where the server is", () => {
  test("TOREN_URL and TOREN_API_KEY point elsewhere; a wrong key, no key and no server are told apart", async () => {
    const key = (await readFile(join(bench.folder, ".toren/key"), "utf8")).trim();
    const { url } = JSON.parse(await readFile(join(bench.folder, ".toren/server.json"), "utf8")) as { url: string };
    const there = { TOREN_HOME: join(bench.folder, "other"), TOREN_URL: url };
    expect((await bench.toren(["jobs", "list"], { env: { ...there, TOREN_API_KEY: key } })).status).toBe(0);
    const none = await bench.toren(["jobs", "list"], { env: there });
    expect(none.err).toContain("auth.missing");
    const wrong = await bench.toren(["jobs", "list"], { env: { ...there, TOREN_API_KEY: "toren_x" } });
    expect(wrong.err).toContain("auth.invalid");
    const away = await bench.toren(["jobs", "list"], {
      env: { ...there, TOREN_URL: "http://127.0.0.1:9", TOREN_API_KEY: key },
    });
    expect([none.status, wrong.status, away.status]).toEqual([2, 2, 3]);
    expect(away.err).toContain("server.unreachable");
  });

  test("where nothing ever ran there is no server, and none is made up", async () => {
    const env = { TOREN_HOME: join(bench.folder, "empty"), DATABASE_URL: "" };
    for (const args of [
      ["jobs", "list"],
      ["jobs", "cancel", "ffffffff"],
      ["run", "echo", "x", "--detach"],
    ]) {
      const { status, err } = await bench.toren(args, { env });
      expect([args[0], status]).toEqual([args[0], args[0] === "run" ? 2 : 3]);
      expect(err).toContain("toren dev");
    }
  });

  test("a database that is away is exit 3", async () => {
    const env = { TOREN_HOME: join(bench.folder, "empty"), DATABASE_URL: "postgres://nobody:secret@127.0.0.1:9/none" };
    const { status, err } = await bench.toren(["doctor"], { env });
    expect(status).toBe(3);
    expect(err + (await bench.toren(["doctor", "--json"], { env })).out).not.toContain("secret");
  });

  test("secrets are only the owner's to read", async () => {
    for (const name of ["key", "server.json"]) {
      expect((await stat(join(bench.folder, ".toren", name))).mode & 0o777).toBe(0o600);
    }
  });

  test("a second server in the same folder is refused, with where the first is", async () => {
    await expect(bench.serve(model)).rejects.toThrow(
      /A server runs here already: http:\/\/127\.0\.0\.1:\d+ \(pid \d+\)/,
    );
  });
});

describe("usage", () => {
  test.each([
    [["bogus"], "unknown command 'bogus'"],
    [["run", "echo"], "missing required argument 'input'"],
    [["jobs", "list", "--limit", "0"], "whole number"],
    [["jobs", "list", "--status", "done"], "There is no such status"],
    [["dev", "--port", "x"], "A port is a number"],
    [["run", "echo", "x", "--modle", "demo"], "unknown option"],
  ])("%j is exit 2", async (args, says) => {
    const { status, out, err } = await bench.toren(args);
    expect({ status, out }).toEqual({ status: 2, out: "" });
    expect(err).toContain(says);
  });

  test("--help is exit 0 and names the exit codes", async () => {
    const { status, out } = await bench.toren(["--help"]);
    expect(status).toBe(0);
    expect(out).toContain("3 no server or database");
  });
});

test("messages name commands as they are to be called: by npx where npx was used", async () => {
  const said = async (env: NodeJS.ProcessEnv) => (await bench.toren(["jobs", "show", "ffffffff"], { env })).err;
  expect(await said({})).toContain(" `toren jobs list` ");
  expect(await said({ npm_command: "exec" })).toContain(" `npx toren jobs list` ");
});
