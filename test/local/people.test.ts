// Over 300 lines: one bench for every way in which people tell a run something. People in the loop over the command line: a real server, a real engine, a real Postgres; only the model is scripted.
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { RunningServer } from "../../local/server.ts";
import { createScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { type Bench, createBench } from "./harness.ts";

const DESK = `name: desk
description: Pays back.
model: mock/script
system: You pay back.
tools: [pay, wire]
`;
const TOOLS = `import { defineTool } from "toren";
import { appendFileSync } from "node:fs";
import * as z from "zod";
const pay = (more) => defineTool({
  description: "Pays.",
  input: z.object({ to: z.string(), cents: z.int() }),
  effects: "external",
  approval: ({ cents }) => cents > 100,
  handler: ({ to, cents }) => {
    appendFileSync(process.env.DESK_BOOK, \`\${to} \${cents}\\n\`);
    return \`paid \${to} \${cents}\`;
  },
  ...more,
});
export const payTool = pay({ name: "pay", idempotency: "keyed" });
export const wireTool = pay({ name: "wire", idempotency: "none" });
`;
const TALK = `name: talk
description: Talks.
model: mock/script
system: You talk.
mode: session
tools: [pay]
`;

const BANK = `name: bank
description: Wires.
roles:
  clerk: { model: mock/script, system: You wire., tools: [wire] }
`;

const SHOP = `name: shop
description: Sells.
roles:
  clerk: { model: mock/script, system: You sell. }
`;
const SHOP_WORKFLOW = `import { defineWorkflow } from "toren";
export default defineWorkflow(async (ctx) => [await ctx.waitFor("paid"), await ctx.waitFor("name", { timeoutMs: 3_600_000 })]);
`;

const heard = (request: ModelRequest): string =>
  (request.messages.at(-1)?.content ?? [])
    .map((part) => (part.type === "text" || part.type === "toolResult" ? part.text : ""))
    .join(" + ");
/** `pay ann 500, pay bob 600` calls the tools, everything else is said back. */
const model = createScriptedModel(async (request, _n, signal): Promise<Turn> => {
  const text = heard(request);
  if (text.includes("hang")) await new Promise((resolve) => signal.addEventListener("abort", resolve));
  const calls = [...text.matchAll(/\b(pay|wire) (\w+) (\d+)/g)];
  const isResult = request.messages.at(-1)?.content.some((part) => part.type === "toolResult") === true;
  if (isResult || calls.length === 0) return `heard: ${text}`;
  return { tools: calls.map(([, name = "", to, cents]) => ({ name, args: { to: to ?? "", cents: Number(cents) } })) };
});

let bench: Bench;
let book: string;
let server: RunningServer;
beforeAll(async () => {
  bench = await createBench();
  book = `${bench.folder}/book.txt`;
  process.env.DESK_BOOK = book;
  for (const [name, yaml] of [
    ["desk", DESK],
    ["talk", TALK],
  ] as const) {
    await bench.write(`agents/${name}/agent.yaml`, yaml);
    await bench.write(`agents/${name}/tools.ts`, TOOLS);
  }
  await bench.write("agents/shop/agent.yaml", SHOP);
  await bench.write("agents/shop/workflows/main.ts", SHOP_WORKFLOW);
  server = await bench.serve(model);
});
afterAll(async () => {
  delete process.env.DESK_BOOK;
  await bench.close();
});

const show = async (runId: string): Promise<RunJson> => (await bench.json(["jobs", "show", runId])).value;
const become = async (runId: string, status: RunJson["status"]): Promise<RunJson> => {
  for (let tries = 0; tries < 200; tries++) {
    const run = await show(runId);
    if (run.status === status) return run;
    await sleep(50);
  }
  throw new Error(`${runId} is ${(await show(runId)).status}, not ${status}`);
};
const start = async (agent: string, input: string, status: RunJson["status"]): Promise<RunJson> => {
  const { value } = await bench.json(["run", agent, input, "--detach"]);
  return become((value as { runId: string }).runId, status);
};
const refused = async (args: readonly string[], code: string): Promise<string> => {
  const { status, value } = await bench.json(args);
  expect([args, status, value]).toEqual([args, 2, { error: { code, message: expect.any(String) } }]);
  return (value as { error: { message: string } }).error.message;
};

describe("a call that waits for approval", () => {
  test("shows everywhere with its arguments and what to do; approve shows it again, decides, and the run goes on", async () => {
    const run = await start("desk", "pay ann 500", "waitingApproval");
    expect(run.approvals).toEqual([
      {
        call: expect.any(String),
        key: expect.any(String),
        taskId: "w0t0",
        tool: "pay",
        args: { to: "ann", cents: 500 },
        requestedAt: expect.any(String),
        expiresAt: null,
        reason: "approval",
        decided: null,
      },
    ]);
    expect(run.reason).toContain(`\`toren jobs approve ${run.runId}\``);
    const { out } = await bench.toren(["jobs", "show", run.runId]);
    expect(out).toMatch(
      /pay waits for approval.*\n +cents +500\n +to +ann\n +toren jobs approve \w{8} +toren jobs deny \w{8}/,
    );
    expect((await bench.toren(["jobs", "list"])).out).toMatch(/desk +waitingApproval/);
    const { status, err } = await bench.toren(["jobs", "approve", run.runId, "--comment", "fine"]);
    expect(status).toBe(0);
    expect(err).toMatch(/pay waits for approval[\s\S]*cents +500[\s\S]*Granted by ann/);
    const ended = await become(run.runId, "completed");
    expect(ended.output).toBe("heard: paid ann 500");
    expect(ended.approvals).toMatchObject([{ decided: { granted: true, by: "ann", comment: "fine" } }]);
    expect((await bench.toren(["jobs", "show", run.runId])).out).toMatch(/pay +granted by ann: fine/);
  });

  test("deny: the model reads who and why, and the tool doesn't run", async () => {
    const run = await start("desk", "pay eve 666", "waitingApproval");
    const { value } = await bench.json(["jobs", "deny", run.runId.slice(0, 8), "--comment", "never eve"]);
    expect(value).toMatchObject({ runId: run.runId, tool: "pay", args: { to: "eve", cents: 666 }, granted: false });
    expect((await become(run.runId, "completed")).output).toBe(
      "heard: ann did not allow this call, and it did not run: never eve",
    );
  });

  test("several wait: one has to be named, by its id or the beginning of it; each is decided alone", async () => {
    const run = await start("desk", "pay ann 500 and pay bob 600", "waitingApproval");
    expect(await refused(["jobs", "approve", run.runId], "approval.ambiguous")).toMatch(
      /2 calls wait.*--call[\s\S]*bob/,
    );
    const [ann, bob] = run.approvals;
    await bench.json(["jobs", "approve", run.runId, "--call", bob?.call ?? ""]);
    await bench.json(["jobs", "deny", run.runId, "--call", ann?.call.slice(0, -1) ?? ""]);
    expect((await become(run.runId, "completed")).output).toMatch(/ann did not allow.* \+ paid bob 600/);
  });

  test("what isn't to be decided is refused with code, who and when, and changes nothing", async () => {
    const run = await start("desk", "pay ann 500 and pay hank 600", "waitingApproval");
    const [ann, hank] = run.approvals.map((a) => a.call);
    await bench.json(["jobs", "deny", run.runId, "--call", ann ?? ""]);
    expect(await refused(["jobs", "approve", run.runId, "--call", ann ?? ""], "decision.taken")).toMatch(
      /denied by ann, at 20\d\d-/,
    );
    await refused(["jobs", "approve", run.runId, "--call", "nowhere"], "approval.unknown");
    await refused(["jobs", "approve", "00000000-0000-4000-8000-000000000000"], "run.unknown");
    const other = await start("desk", "hello", "completed");
    expect(await refused(["jobs", "approve", other.runId, "--call", hank ?? ""], "run.ended")).toMatch(/at 20\d\d-/);
    const now = await show(run.runId);
    expect(now.status).toBe("waitingApproval");
    expect(now.approvals.map((a) => a.decided?.by)).toEqual(["ann", undefined]);
  });

  test("toren run says what it waits for, waits until it is decided elsewhere, and ends as the run does", async () => {
    const [loud, still] = [
      { out: "", err: "" },
      { out: "", err: "" },
    ];
    const running = bench.toren(["run", "desk", "pay carl 700"], { written: loud });
    const quiet = bench.toren(["run", "desk", "pay dora 800", "--json"], { written: still });
    for (const written of [loud, still]) {
      while (!written.err.includes("toren jobs approve")) await sleep(50);
      expect(written.out).toBe("");
      await bench.json(["jobs", "approve", /jobs approve (\w+)/.exec(written.err)?.[1] ?? ""]);
    }
    const { status, out, err } = await running;
    expect({ status, out }).toEqual({ status: 0, out: "heard: paid carl 700\n" });
    expect(err).toMatch(/pay waits for approval[\s\S]*carl[\s\S]*toren jobs approve \w{8}/);
    const json = await quiet;
    expect(JSON.parse(json.out)).toMatchObject({ status: "completed", output: "heard: paid dora 800" });
    expect(json.err).toMatch(/pay waits for approval[\s\S]*dora/);
  });
});

describe("toren jobs signal", () => {
  test("says what is awaited; a value is JSON, a text with --text; the run goes on to its end", async () => {
    const run = await start("shop", "x", "waitingSignal");
    expect(run).toMatchObject({
      wait: "signal",
      signals: [{ signal: "paid", since: expect.any(String), dueAt: null }],
    });
    const shown = (await bench.toren(["jobs", "show", run.runId])).out;
    expect(shown).toMatch(/paid awaited as a signal +for /);
    expect(shown).toMatch(/toren jobs signal \w{8} paid VALUE/);
    expect((await bench.json(["jobs", "list", "--status", "waitingSignal"])).value).toMatchObject({
      runs: [{ runId: run.runId }],
    });
    expect((await bench.json(["jobs", "signal", run.runId, "name", "ann", "--text"])).value).toEqual({
      runId: run.runId,
    });
    expect((await bench.toren(["jobs", "signal", run.runId, "paid", '{"cents":5}'])).err).toMatch(/^Sent\./);
    expect((await become(run.runId, "completed")).output).toEqual([{ cents: 5 }, "ann"]);
    const tail = (await bench.toren(["jobs", "tail", run.runId])).out;
    expect(tail).toMatch(/SignalAwaited +paid\n/);
    expect(tail).toMatch(/SignalReceived +name ann\n/);
    await refused(["jobs", "signal", run.runId, "paid"], "run.ended");
  });

  test("what isn't JSON, a session, an unknown run and a name that is too long are refused, and nothing is sent", async () => {
    const run = await start("shop", "x", "waitingSignal");
    const typo = await bench.toren(["jobs", "signal", run.runId, "paid", "{cents:5}"]);
    expect([typo.status, typo.err]).toEqual([2, expect.stringMatching(/isn't JSON.*--text/)]);
    await refused(["jobs", "signal", run.runId, "x".repeat(201)], "request.invalid");
    await refused(["jobs", "signal", "00000000-0000-4000-8000-000000000000", "paid"], "run.unknown");
    const talk = await start("talk", "hello", "awaitingInput");
    await refused(["jobs", "signal", talk.runId, "paid"], "run.is_a_session");
    expect((await show(run.runId)).status).toBe("waitingSignal");
    await bench.json(["jobs", "cancel", run.runId]);
    await become(run.runId, "cancelled");
  });
});

describe("toren jobs send", () => {
  test("says something in a session, closes it; the transcript begins with its input", async () => {
    const run = await start("talk", "hello", "awaitingInput");
    expect(run.reason).toContain(`toren chat --run ${run.runId}`);
    expect((await bench.toren(["jobs", "send", run.runId, "-"], { input: "more\n" })).status).toBe(0);
    for (let turns = 0; turns < 4; turns = (await become(run.runId, "awaitingInput")).turns?.length ?? 0)
      await sleep(50);
    expect((await bench.json(["jobs", "send", run.runId, "--close"])).value).toEqual({ runId: run.runId });
    const ended = await become(run.runId, "completed");
    expect(ended.turns?.map((turn) => `${turn.by}: ${turn.text}`)).toEqual([
      "user: hello",
      "agent: heard: hello",
      "user: more\n",
      "agent: heard: more\n",
    ]);
    expect((await bench.toren(["jobs", "show", run.runId])).out).toMatch(/user +hello\n +agent +heard: hello\n/);
    expect(await refused(["jobs", "send", run.runId, "again"], "run.ended")).toMatch(/at 20\d\d-/);
  });

  test("a run that is no session, and a message without words, are refused", async () => {
    const desk = await start("desk", "hang on", "running");
    await refused(["jobs", "send", desk.runId, "hello"], "run.not_a_session");
    await bench.json(["jobs", "cancel", desk.runId]);
    const talk = await start("talk", "hello", "awaitingInput");
    await refused(["jobs", "send", talk.runId, "   "], "request.invalid");
    expect((await bench.toren(["jobs", "send", talk.runId])).status).toBe(2);
    expect((await show(talk.runId)).turns).toHaveLength(2);
  });

  test("toren run of a session prints the answer and ends; the session waits on", async () => {
    const { status, out, err } = await bench.toren(["run", "talk", "hello"]);
    expect({ status, out }).toEqual({ status: 0, out: "heard: hello\n" });
    expect(err).toMatch(/toren chat --run \w{8}/);
    const { value } = await bench.json(["run", "talk", "hello"]);
    expect(value).toMatchObject({ status: "awaitingInput", output: null, answer: "heard: hello" });
  });
});

describe("toren jobs resume", () => {
  test("--rerun and --keep are refused where no cut waits, and together", async () => {
    const run = await start("talk", "hello", "awaitingInput");
    await refused(["jobs", "resume", run.runId, "--keep"], "cut.not_waiting");
    expect((await bench.toren(["jobs", "resume", run.runId, "--keep", "--rerun"])).status).toBe(2);
    expect((await bench.json(["jobs", "resume", run.runId])).status).toBe(0);
  });

  test("I6b: an edit that would wire again waits; show names edit and call, --keep and --rerun decide", async () => {
    const [kept, again] = await Promise.all([
      start("desk", "wire kate 5 and pay kate 900", "waitingApproval"),
      start("desk", "wire rudi 5 and pay rudi 900", "waitingApproval"),
    ]);
    await server.close();
    await bench.write("agents/desk/agent.yaml", DESK.replace("You pay back.", "You pay back, gladly."));
    server = await bench.serve(model);
    for (const { runId } of [kept, again]) {
      await bench.json(["jobs", "resume", runId]);
      expect((await become(runId, "waitingCut")).cuts).toEqual([
        {
          stream: "task:w0t0",
          reason: expect.stringContaining("system changed"),
          calls: ["wire"],
          price: { modelCalls: 1, costUsd: expect.any(Number), simulated: true },
          instead: null,
          requestedAt: expect.any(String),
        },
      ]);
    }
    expect((await bench.toren(["jobs", "show", kept.runId])).out).toMatch(
      /w0t0 waits for a decision +system changed.*\n +would be done again: wire\n +would be paid again: 1 model call, simulated \$[\d.]+\n[\s\S]*toren jobs resume \w{8} --rerun +toren jobs resume \w{8} --keep/,
    );
    const { err } = await bench.toren(["jobs", "resume", kept.runId, "--keep"]);
    expect(err).toMatch(/would be done again: wire\n.*paid again: 1 model call.*\nRun .* told to keep/);
    await become(kept.runId, "waitingApproval");
    await bench.json(["jobs", "resume", again.runId, "--rerun"]);
    await become(again.runId, "waitingApproval");
    for (const { runId } of [kept, again]) {
      await refused(["jobs", "resume", runId, "--keep"], "cut.not_waiting");
      await bench.json(["jobs", "approve", runId]);
      expect((await become(runId, "completed")).output).toMatch(/^heard: paid (kate|rudi) 5 \+ paid (kate|rudi) 900$/);
    }
    const paid = (await readFile(book, "utf8")).split("\n");
    expect(paid.filter((line) => line === "kate 5")).toHaveLength(1);
    expect(paid.filter((line) => line === "rudi 5")).toHaveLength(2);
    expect(paid.filter((line) => /^(kate|rudi) 900$/.test(line))).toHaveLength(2);
  });

  test("I6b: a workflow edited behind what it wired: show says what answers for what, and --keep wires nothing again", async () => {
    const code = (words: string) => `import { defineWorkflow } from "toren";
export default defineWorkflow(async (ctx) => {
  const said = await ctx.ask("clerk", "${words}");
  await ctx.sleep(${words.includes("please") ? 0 : 3_600_000});
  return said;
});
`;
    await bench.write("agents/bank/agent.yaml", BANK);
    await bench.write("agents/bank/tools.ts", TOOLS);
    await bench.write("agents/bank/workflows/main.ts", code("wire tina 5"));
    await server.close();
    server = await bench.serve(model);
    const run = await start("bank", "x", "waitingTimer");
    await server.close();
    await bench.write("agents/bank/workflows/main.ts", code("wire tina 5, please"));
    server = await bench.serve(model);
    await bench.json(["jobs", "resume", run.runId]);
    expect((await become(run.runId, "waitingCut")).cuts).toMatchObject([{ stream: "run", calls: ["w0t0: wire"] }]);
    const pair = 'w0t0  clerk "wire tina 5"  for  clerk "wire tina 5, please"';
    expect((await bench.toren(["jobs", "show", run.runId])).out).toContain(pair);
    expect((await bench.toren(["jobs", "resume", run.runId, "--keep"])).err).toContain(pair);
    expect((await become(run.runId, "completed")).output).toBe("heard: paid tina 5");
    expect((await readFile(book, "utf8")).match(/tina 5/g)).toHaveLength(1);
  });

  test("a decision outlives the worker that was to act on it, and a message too", async () => {
    const run = await start("desk", "pay lena 900", "waitingApproval");
    const talk = await start("talk", "hello", "awaitingInput");
    await server.close();
    server = await bench.serve(model, { worker: false });
    await bench.json(["jobs", "approve", run.runId]);
    await bench.json(["jobs", "send", talk.runId, "are you there?", "--close"]);
    await server.close();
    server = await bench.serve(model);
    expect((await become(run.runId, "completed")).output).toBe("heard: paid lena 900");
    expect((await become(talk.runId, "completed")).output).toBe("heard: are you there?");
  });
});
