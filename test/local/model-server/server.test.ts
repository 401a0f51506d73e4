import { once } from "node:events";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { LedgerEntry } from "../../../local/model-server/ledger.ts";
import { type ModelServer, startModelServer } from "../../../local/model-server/server.ts";
import { FILE_TOOLS } from "./requests.ts";

const body = { model: "m", messages: [{ role: "user", content: "What is an arch bridge?" }] };

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer({ port: 0, minLatencyMs: 60, maxLatencyMs: 120 });
});
afterEach(() => server.close());

function post(payload: unknown, init: RequestInit = {}): Promise<Response> {
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  return fetch(`${server.url}/chat/completions`, { method: "POST", body: text, ...init });
}

async function ledger(): Promise<LedgerEntry[]> {
  return (await (await fetch(new URL("/ledger", server.url))).json()) as LedgerEntry[];
}

async function settledLedger(): Promise<LedgerEntry[]> {
  for (let tries = 0; tries < 100; tries++) {
    const entries = await ledger();
    if (entries.every((entry) => entry.finishedAt !== null)) return entries;
    await sleep(10);
  }
  throw new Error("a request never finished");
}

interface Completion {
  readonly choices: readonly { readonly message: { readonly content: string } }[];
  readonly usage: unknown;
}

/** The events of a streamed answer: its parsed chunks, and whether it ended as it should. */
async function streamOf(payload: object) {
  const text = await (await post({ ...payload, stream: true })).text();
  const events = text
    .trim()
    .split("\n\n")
    .map((event) => event.replace(/^data: /, ""));
  expect(events.at(-1)).toBe("[DONE]");
  return events.slice(0, -1).map((event) => JSON.parse(event));
}

describe("the wire", () => {
  test("an answer has OpenAI's shape, says what it is, and takes its time", async () => {
    const from = performance.now();
    const response = await post(body);
    const answer = await response.json();
    expect(performance.now() - from).toBeGreaterThanOrEqual(59);
    expect(response.status).toBe(200);
    expect(answer).toMatchObject({
      object: "chat.completion",
      model: "m",
      system_fingerprint: expect.stringContaining("rule-based"),
      choices: [{ index: 0, message: { role: "assistant", content: expect.any(String) }, finish_reason: "stop" }],
      usage: { prompt_tokens: expect.any(Number), prompt_tokens_details: { cached_tokens: 0 } },
    });
  });

  test("the chunks of a stream join to the answer that is not streamed", async () => {
    const whole = (await (await post(body)).json()) as Completion;
    const chunks = await streamOf({ ...body, stream_options: { include_usage: true } });
    const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(chunks.at(-2).choices[0].finish_reason).toBe("stop");
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
  });

  test("streamed tool calls join to whole ones", async () => {
    const chunks = await streamOf({ ...body, tools: FILE_TOOLS });
    const deltas = chunks.flatMap((chunk) => chunk.choices[0].delta.tool_calls ?? []);
    const first = deltas.filter((delta) => delta.index === 0);
    expect(first[0]).toMatchObject({ id: expect.stringMatching(/^call_/), function: { name: "list_files" } });
    expect(first.map((delta) => delta.function.arguments).join("")).toBe("{}");
    expect(chunks.at(-1).choices[0].finish_reason).toBe("tool_calls");
  });

  test("errors have OpenAI's shape and are in the ledger", async () => {
    const error = { message: expect.any(String), type: "invalid_request_error", code: null, param: null };
    const broken = await post("{");
    expect([broken.status, await broken.json()]).toEqual([400, { error }]);
    expect((await post({ model: "m", messages: [] })).status).toBe(400);
    expect((await fetch(`${server.url}/embeddings`)).status).toBe(404);
    expect((await ledger()).map((entry) => [entry.status, entry.usage])).toEqual([
      [400, null],
      [400, null],
    ]);
  });

  test("the list of models says that it is rule-based", async () => {
    const list = await (await fetch(`${server.url}/models`)).json();
    expect(list).toMatchObject({ data: [{ description: expect.stringContaining("rule-based") }] });
  });

  test("it listens on the loopback interface only", async () => {
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((address) => address !== undefined && !address.internal && address.family === "IPv4");
    if (outside === undefined) return;
    const socket = connect({ host: outside.address, port: server.port, timeout: 1_000 });
    const outcome = await Promise.race([
      once(socket, "connect").then(() => "connected"),
      once(socket, "timeout").then(() => "refused"),
    ]).catch(() => "refused");
    socket.destroy();
    expect(outcome).toBe("refused");
  });
});

describe("the ledger over the wire", () => {
  test("equal requests have equal digests, whatever the order of their keys", async () => {
    await Promise.all([post(body), post({ messages: body.messages, model: "m" }), post({ ...body, model: "n" })]);
    const entries = await settledLedger();
    expect(entries.map((entry) => entry.answered)).toEqual([true, true, true]);
    const digests = new Map(entries.map((entry) => [entry.requestDigest, entry.model]));
    expect([...digests.values()].toSorted()).toEqual(["m", "n"]);
  });

  test.each([
    ["whole", body],
    ["streamed", { ...body, stream: true }],
  ])("a client that hangs up before its %s answer leaves it unanswered", async (_name, payload) => {
    const hangUp = new AbortController();
    const pending = post(payload, { signal: hangUp.signal }).then((response) => response.text());
    while ((await ledger()).length === 0) await sleep(2);
    expect(await ledger()).toMatchObject([{ n: 1, finishedAt: null, answered: false }]);
    hangUp.abort();
    await expect(pending).rejects.toThrow();
    expect(await settledLedger()).toMatchObject([
      { n: 1, answered: false, usage: { prompt_tokens: expect.any(Number) } },
    ]);
  });
});
