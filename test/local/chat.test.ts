// toren chat over pipes and at a prompt; only the model is scripted.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { commandOf } from "../../local/client/conversation.ts";
import type { Line } from "../../local/terminal/lines.ts";
import { createScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { type Bench, createBench } from "./harness.ts";

const TALK = `name: talk
description: Talks.
model: mock/script
system: You talk.
mode: session
tools: [pay]
`;
const TOOLS = `import { defineTool } from "toren";
import * as z from "zod";
export const pay = defineTool({
  description: "Pays.",
  input: z.object({ to: z.string() }),
  effects: "external",
  idempotency: "keyed",
  approval: "always",
  handler: ({ to }) => \`paid \${to}\`,
});
`;
const model = createScriptedModel((request): Turn => {
  const parts = request.messages.at(-1)?.content ?? [];
  const text = parts.map((part) => (part.type === "text" || part.type === "toolResult" ? part.text : "")).join(" + ");
  const to = /^pay (\w+)/.exec(text)?.[1];
  return to === undefined ? `heard: ${text}` : { tools: [{ name: "pay", args: { to } }] };
});

let bench: Bench;
beforeAll(async () => {
  bench = await createBench();
  await bench.write("agents/talk/agent.yaml", TALK);
  await bench.write("agents/talk/tools.ts", TOOLS);
  await bench.serve(model);
});
afterAll(() => bench.close());

const documents = (out: string): { type: string; runId: string; text?: string }[] =>
  out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
const show = async (runId: string): Promise<RunJson> => (await bench.json(["jobs", "show", runId])).value;

describe("over pipes", () => {
  test("every line is a message, every answer a line; the end of the input closes the session", async () => {
    const { status, out, err } = await bench.toren(["chat", "talk"], { input: "hello\n\nhow are you?\n" });
    expect({ status, out }).toEqual({ status: 0, out: "heard: hello\nheard: how are you?\n" });
    expect(err).toMatch(/The session is closed\.\n +2 model calls/);
  });

  test("--json: one document a line", async () => {
    const { status, out } = await bench.toren(["chat", "talk", "--json"], { input: "hello\n/close\nnever said\n" });
    expect(status).toBe(0);
    expect(documents(out)).toEqual([
      { type: "session", runId: expect.any(String), agent: "talk" },
      { type: "answer", text: "heard: hello", at: expect.any(String) },
      { type: "ended", status: "completed" },
    ]);
  });

  test("a call that waits is decided by the next line: y, or n and why", async () => {
    const { out, err } = await bench.toren(["chat", "talk"], { input: "pay ann\ny\npay eve\nn, not eve\nthanks\n" });
    expect(out.split("\n")).toEqual([
      "heard: paid ann",
      "heard: ann did not allow this call, and it did not run: not eve",
      "heard: thanks",
      "",
    ]);
    expect(err).toMatch(/pay waits for approval.*\n +to +eve/);
  });

  test("a line that is neither is kept for later, and the call is left to others", async () => {
    const written = { out: "", err: "" };
    const chatting = bench.toren(["chat", "talk", "--json"], { input: "pay zoe\nand then?\n", written });
    while (!written.err.includes("toren jobs approve")) await sleep(50);
    expect(documents(written.out).at(-1)).toMatchObject({ type: "approval", tool: "pay", args: { to: "zoe" } });
    await bench.json(["jobs", "approve", documents(written.out)[0]?.runId ?? ""]);
    const { status, out } = await chatting;
    expect(status).toBe(0);
    expect(documents(out).flatMap(({ type, text }) => (type === "answer" ? [text] : []))).toEqual([
      "heard: paid zoe",
      "heard: and then?",
    ]);
  });

  test("Ctrl-C leaves the session parked and says how to come back; --run comes back", async () => {
    const interruption = new AbortController();
    const typed = async function* (): AsyncGenerator<string> {
      yield "hello\n";
      await sleep(60_000, undefined, { ref: false });
    };
    const chatting = bench.toren(["chat", "talk", "--json"], { typed: typed(), signal: interruption.signal });
    let runId = "";
    for (; runId === ""; await sleep(100)) {
      const { runs } = (await bench.json(["jobs", "list", "--status", "awaitingInput"])).value as { runs: RunJson[] };
      runId = runs[0]?.runId ?? "";
    }
    interruption.abort();
    const { status, err } = await chatting;
    expect(status).toBe(130);
    expect(err).toContain(`toren chat --run ${runId.slice(0, 8)}`);
    expect((await show(runId)).status).toBe("awaitingInput");
    const back = await bench.toren(["chat", "--run", runId.slice(0, 8)], { input: "again\n" });
    expect({ status: back.status, out: back.out }).toEqual({ status: 0, out: "heard: hello\nheard: again\n" });
    expect(back.err).toContain("› hello\n");
    expect(back.err).not.toContain("from elsewhere");
    const late = await bench.toren(["chat", "--run", runId], { input: "x\n" });
    expect(late.err).toMatch(/run\.ended.*at 20\d\d-/);
  });

  test("of a long session the last turns come with the run, the others are asked for", async () => {
    const said = Array.from({ length: 30 }, (_, i) => `m${i}`);
    const { out } = await bench.toren(["chat", "talk"], { input: `${said.join("\n")}\n` });
    expect(out.trim().split("\n")).toEqual(said.map((text) => `heard: ${text}`));
    const { runs } = (await bench.json(["jobs", "list", "--limit", "1"])).value as { runs: RunJson[] };
    const runId = runs[0]?.runId ?? "";
    const run = await show(runId);
    expect([run.turnCount, run.turns?.length, run.turns?.at(-1)?.text]).toEqual([60, 50, "heard: m29"]);
    const texts = async (turns: number): Promise<string> =>
      (await bench.toren(["jobs", "show", runId, "--turns", String(turns)])).out;
    expect(await texts(60)).toMatch(/user +m0\n +agent +heard: m0\n[\s\S]*heard: m29\n/);
    expect(await texts(3)).toMatch(/57 above \(--turns shows more\)\n +agent +heard: m28\n/);
    const all = (await bench.json(["jobs", "show", runId, "--turns", "200"])).value as RunJson;
    expect(all.turns?.map((turn) => turn.text)).toEqual(said.flatMap((text) => [text, `heard: ${text}`]));
  });

  test("nothing said, nothing started", async () => {
    const before = (await bench.json(["jobs", "list"])).value as { runs: RunJson[] };
    expect(await bench.toren(["chat", "talk"], { input: "\n/hlep\n" })).toMatchObject({ status: 0, out: "" });
    expect((await bench.json(["jobs", "list"])).value).toEqual(before);
  });

  test.each([
    [["chat", "tolk"], "agent.unknown", 'Did you mean "talk"?'],
    [["chat", "echo"], "run.not_a_session", "toren run echo"],
    [["chat", "talk", "--process", "man"], "process.unknown", 'Did you mean "main"?'],
    [["chat", "--run", "ffffffff"], "run.unknown", "jobs list"],
    [["chat"], "", "--run"],
  ])("%j is exit 2 with what to do, and reads no input", async (args, code, says) => {
    const { status, out, err } = await bench.toren(args, { input: "hello\n" });
    expect({ status, out }).toEqual({ status: 2, out: "" });
    expect(err).toContain(code);
    expect(err).toContain(says);
  });
});

test("what a line means", () => {
  const line = (text: string): Line => ({ type: "line", text });
  expect(commandOf({ type: "end" })).toEqual({ type: "close" });
  expect(commandOf(line("/close "))).toEqual({ type: "close" });
  expect(commandOf(line("  "))).toEqual({ type: "nothing" });
  expect(commandOf(line("/clsoe"))).toMatchObject({ type: "explain", text: expect.stringContaining("no /clsoe here") });
  expect(commandOf(line(" /etc/hosts is a file"))).toEqual({ type: "say", text: "/etc/hosts is a file" });
});
