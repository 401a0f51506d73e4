// Over 300 lines: each case stands with the whole exchange that it is about. OpenAI's chat completions over real HTTP: what goes out, what is made of every answer, and that a question is asked once.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createOpenAiChat } from "../../../shared/adapters/model/openai/chat.ts";
import type { Message, ModelRequest, ModelResponse } from "../../../shared/core/messages.ts";
import { modelResponse } from "../../../shared/core/messages.ts";
import { nextAction } from "../../../shared/core/task/loop.ts";
import type { ModelFailure } from "../../../shared/ports/model.ts";
import { begin, started, tapeOf, task, turn } from "../../core/task/driver.ts";
import { type ChatServer, chatServer, completion, type Reply } from "./chat-server.ts";

let server: ChatServer;
beforeEach(async () => {
  server = await chatServer();
});
afterEach(async () => {
  await server.close();
});

const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });
const request: ModelRequest = {
  model: "openai/any",
  system: "You are brief.",
  tools: [],
  messages: [user("Hi.")],
  maxTokens: 64,
  options: {},
};
const never = new AbortController().signal;
const ask = (of: Partial<ModelRequest> = {}, signal = never) =>
  createOpenAiChat({ model: "any", apiKey: "sk-test", baseURL: server.baseURL }).ask({ ...request, ...of }, signal);

async function answered(reply: object, of: Partial<ModelRequest> = {}): Promise<ModelResponse> {
  server.reply = { body: reply };
  const answer = await ask(of);
  if (!answer.ok) throw new Error(answer.failure.error.message);
  expect(modelResponse.safeParse(answer.response).success).toBe(true); // else it couldn't be recorded
  return answer.response;
}
async function refused(reply: Reply, of: Partial<ModelRequest> = {}): Promise<ModelFailure> {
  server.reply = reply;
  const answer = await ask(of);
  if (answer.ok) throw new Error("it was answered");
  expect(server.requests).toHaveLength(1); // the engine's policy of retries is the only one
  return answer.failure;
}
const called = (args: unknown, rest: object = {}, finish = "tool_calls") =>
  completion({
    finish_reason: finish,
    message: {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c1", type: "function", function: { name: "search", arguments: args }, ...rest }],
    },
  });

describe("the request", () => {
  test("a plain one", async () => {
    await answered(completion());
    expect(server.requests[0]?.path).toBe("/v1/chat/completions");
    expect(server.requests[0]?.headers.authorization).toBe("Bearer sk-test");
    expect(server.requests[0]?.body).toEqual({
      model: "any",
      messages: [
        { role: "system", content: "You are brief." },
        { role: "user", content: "Hi." },
      ],
      max_tokens: 64,
      stream: false,
    });
  });

  test("no system text, no system message", async () => {
    await answered(completion(), { system: "" });
    expect(server.requests[0]?.body.messages).toEqual([{ role: "user", content: "Hi." }]);
  });

  test("tools, options and schema", async () => {
    const schema = { type: "object", properties: { n: { type: "number" } } };
    await answered(completion(), {
      tools: [{ name: "search", description: "Finds.", inputSchema: schema }],
      options: { temperature: 0.5, seed: 7 },
      outputSchema: schema,
    });
    expect(server.requests[0]?.body).toMatchObject({
      tools: [{ type: "function", function: { name: "search", description: "Finds.", parameters: schema } }],
      temperature: 0.5,
      seed: 7,
      response_format: { type: "json_schema", json_schema: { name: "output", schema } },
    });
  });

  test("results of tools are messages of their own, first and in order; arguments are canonical", async () => {
    await answered(completion(), {
      messages: [
        user("Go."),
        {
          role: "assistant",
          content: [
            { type: "opaque", provider: "anthropic", data: { signature: "x" } },
            { type: "text", text: "I look" },
            { type: "text", text: " it up." },
            { type: "toolUse", id: "a", name: "search", args: { q: "é", b: { d: 1, c: 2 } } },
            { type: "toolUse", id: "b", name: "search", args: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "toolResult", toolUseId: "a", text: "one", isError: false },
            { type: "toolResult", toolUseId: "b", text: "two", isError: true },
            { type: "text", text: "And hurry." },
            { type: "text", text: "Please." },
          ],
        },
      ],
    });
    expect(server.requests[0]?.body.messages.slice(1)).toEqual([
      { role: "user", content: "Go." },
      {
        role: "assistant",
        content: "I look it up.",
        tool_calls: [
          {
            id: "a",
            type: "function",
            function: { name: "search", arguments: '{"b":{"c":2,"d":1},"q":"é"}' },
          },
          { id: "b", type: "function", function: { name: "search", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "a", content: "one" },
      { role: "tool", tool_call_id: "b", content: "two" },
      { role: "user", content: "And hurry.\n\nPlease." },
    ]);
  });

  test("an answer of nothing but another provider's reasoning is no message", async () => {
    const thought: Message = { role: "assistant", content: [{ type: "opaque", provider: "x", data: null }] };
    await answered(completion(), { messages: [user("Go."), thought, user("On.")] });
    expect(server.requests[0]?.body.messages.map((m) => m.role)).toEqual(["system", "user", "user"]);
  });

  test("an option can't turn the answer into a stream", async () => {
    expect(await answered(completion(), { options: { stream: true } })).toMatchObject({ stopReason: "end" });
    expect(server.requests[0]?.body.stream).toBe(false);
  });

  test("equal questions are equal bytes", async () => {
    await answered(completion());
    await answered(completion());
    expect(server.requests[0]?.raw).toBe(server.requests[1]?.raw);
  });
});

test("every question of every task is one that a strict server takes", async () => {
  const model = createOpenAiChat({ model: "any", apiKey: "k", baseURL: server.baseURL });
  const numbers = fc.sample(fc.array(fc.nat(10_000), { minLength: 60, maxLength: 200 }), { numRuns: 25, seed: 7 });
  for (const tape of numbers.map(tapeOf)) {
    const writer = begin(task);
    started(writer);
    for (let n = 0; n < 15 && !tape.over; n++) {
      const action = nextAction(writer.state, task.caps);
      if (action.type === "ask")
        expect(await model.ask(action.request, never)).toMatchObject({ ok: true, response: { stopReason: "end" } });
      if (!turn(writer, task.caps, tape)) break;
    }
  }
  expect(server.requests.length).toBeGreaterThan(75);
  expect(server.requests.some((r) => r.body.messages.length > 8)).toBe(true);
});

describe("the answer", () => {
  test("text", async () => {
    expect(await answered(completion())).toEqual({
      content: [{ type: "text", text: "Hello." }],
      stopReason: "end",
      usage: { input: 10, cacheRead: 0, cacheWrite: 0, output: 2, reasoning: 0 },
      rawUsage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
      servedBy: "served-model-2026",
    });
  });

  test("usage: cached tokens are taken out of the input, reasoning is a part of the output", async () => {
    const usage = {
      prompt_tokens: 2_006,
      completion_tokens: 300,
      total_tokens: 2_306,
      prompt_tokens_details: { cached_tokens: 1_920, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 192, accepted_prediction_tokens: 0 },
    };
    const { usage: spent, rawUsage } = await answered(completion({}, { usage }));
    expect(spent).toEqual({ input: 86, cacheRead: 1_920, cacheWrite: 0, output: 300, reasoning: 192 });
    expect(rawUsage).toEqual(usage);
  });

  test.each<[string, unknown]>([
    ["missing", undefined],
    ["null", null],
    ["empty", {}],
    ["not numbers", { prompt_tokens: "many", completion_tokens: null }],
    ["negative", { prompt_tokens: -5, completion_tokens: -1 }],
    ["out of range", { prompt_tokens: 1e300, completion_tokens: 1e16 }],
  ])("usage that is %s counts nothing, and the answer stands", async (_, usage) => {
    const answer = await answered(completion({}, { usage }));
    expect(answer.usage).toEqual({ input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 });
    expect(answer.content).toHaveLength(1);
  });

  test("more cached than asked, more reasoning than said: never below zero", async () => {
    const usage = {
      prompt_tokens: 5,
      completion_tokens: 2,
      prompt_tokens_details: { cached_tokens: 9 },
      completion_tokens_details: { reasoning_tokens: 9 },
    };
    expect((await answered(completion({}, { usage }))).usage).toEqual({
      input: 0,
      cacheRead: 5,
      cacheWrite: 0,
      output: 2,
      reasoning: 2,
    });
  });

  test.each([
    ["stop", "end"],
    ["length", "maxTokens"],
    ["content_filter", "refusal"],
    [null, "end"],
    ["something_new", "end"],
  ])("finish_reason %p is %p", async (finish_reason, stop) => {
    expect((await answered(completion({ finish_reason }))).stopReason).toBe(stop);
  });

  test.each(["tool_calls", "stop", null])("tool calls beside finish_reason %p are tool calls", async (finish) => {
    expect(await answered(called('{"q":"x"}', {}, finish as string))).toMatchObject({
      stopReason: "toolUse",
      content: [{ type: "toolUse", id: "c1", name: "search", args: { q: "x" } }],
    });
  });

  test("tool calls beside `length` may be cut: the stop reason says so", async () => {
    expect(await answered(called('{"q":"x', {}, "length"))).toMatchObject({
      stopReason: "maxTokens",
      content: [{ malformed: '{"q":"x' }],
    });
  });

  test.each([
    ["no JSON", "{q: 1}", { args: {}, malformed: "{q: 1}" }],
    ["no object", "[1]", { args: {}, malformed: "[1]" }],
    ["a bare text", '"x"', { args: {}, malformed: '"x"' }],
    ["nested beyond reason", "[".repeat(5_000), { args: {}, malformed: "[".repeat(5_000) }],
    ["nothing", "", { args: {} }],
    ["space", " ", { args: {} }],
    ["null", "null", { args: {} }],
    ["an object as it is, not as text", { q: 1 }, { args: { q: 1 } }],
    ["missing", undefined, { args: {} }],
    ["keys in any order", '{"b":1,"a":2}', { args: { a: 2, b: 1 } }],
  ])("arguments: %s", async (_, given, use) => {
    const [part] = (await answered(called(given))).content;
    expect(part).toEqual({ type: "toolUse", id: "c1", name: "search", ...use });
  });

  test("a call without type or id, as some servers send it, is a call", async () => {
    const answer = await answered(called("{}", { id: undefined, type: undefined }));
    expect(answer).toMatchObject({ stopReason: "toolUse", content: [{ type: "toolUse", id: "", name: "search" }] });
  });

  test("text beside calls comes first, and all calls come in order", async () => {
    const tool_calls = ["a", "b"].map((id) => ({ id, type: "function", function: { name: id, arguments: "{}" } }));
    const answer = await answered(completion({ message: { role: "assistant", content: "I look.", tool_calls } }));
    expect(answer.content.map((p) => (p.type === "toolUse" ? p.id : p.type))).toEqual(["text", "a", "b"]);
  });

  test("a refusal is one, in the model's words", async () => {
    const message = { role: "assistant", content: null, refusal: "I can't help with that." };
    expect(await answered(completion({ message }))).toMatchObject({
      stopReason: "refusal",
      content: [{ type: "text", text: "I can't help with that." }],
    });
  });

  test("of thinking alone within max tokens has no text", async () => {
    const message = { role: "assistant", content: "" };
    expect(await answered(completion({ message, finish_reason: "length" }))).toMatchObject({
      content: [],
      stopReason: "maxTokens",
    });
  });

  test.each<[string, Reply]>([
    ["HTML under 200", { body: "<html>Gateway</html>", headers: { "content-type": "text/html" } }],
    ["HTML that says it is JSON", { body: "<html>Gateway</html>" }],
    ["an empty body", { body: "" }],
    ["no content", { status: 204 }],
    ["a body that breaks off", { body: completion(), fault: "half" }],
    ["half a JSON", { body: '{"id":"chatcmpl-1","choices":[{"mess' }],
    ["choices missing", { body: { id: "x", object: "chat.completion" } }],
    ["no choice", { body: completion({}, { choices: [] }) }],
    ["a choice of nothing", { body: completion({}, { choices: [null] }) }],
    ["a message of nothing", { body: completion({ message: null }) }],
    ["null", { body: "null" }],
    ["an array", { body: "[]" }],
    ["tool calls of another shape", { body: completion({ message: { role: "assistant", tool_calls: "search" } }) }],
    ["an error under 200", { body: { error: { message: "overloaded", type: "overloaded_error" } } }],
  ])("%s is no answer, and may be asked again", async (_, reply) => {
    const failure = await refused(reply);
    expect(failure).toMatchObject({ retryable: true });
    expect(["model.bad_answer", "model.unavailable"]).toContain(failure.error.code);
    expect(failure.error.message.length).toBeGreaterThan(10);
  });
});

describe("a refusal of the question", () => {
  const error = (message: string, code: string | null = null) => ({
    error: { message, type: "some_error", param: null, code },
  });

  test.each<[number, string, string, boolean]>([
    [400, "bad tools", "model.bad_request", false],
    [401, "Incorrect API key provided", "model.auth", false],
    [403, "Country not supported", "model.auth", false],
    [404, "The model does not exist", "model.bad_request", false],
    [408, "slow", "model.unavailable", true],
    [409, "conflict", "model.unavailable", true],
    [422, "unprocessable", "model.bad_request", false],
    [429, "Rate limit reached", "model.unavailable", true],
    [500, "The server had an error", "model.unavailable", true],
    [502, "Bad gateway", "model.unavailable", true],
    [503, "Overloaded", "model.unavailable", true],
    [529, "Overloaded", "model.unavailable", true],
  ])("%i %s is %s, asked once", async (status, message, code, retryable) => {
    const failure = await refused({ status, body: error(message) });
    expect(failure).toMatchObject({ error: { code, message: expect.stringContaining(message) }, retryable });
    expect(failure.retryAfterMs).toBeUndefined();
  });

  test("what the provider's own retry headers say doesn't start a retry of the SDK's", async () => {
    const failure = await refused({ status: 500, headers: { "x-should-retry": "true" }, body: error("again") });
    expect(failure.retryable).toBe(true);
  });

  test("a page of HTML from a gateway is as good as its status", async () => {
    const reply = { status: 502, headers: { "content-type": "text/html" }, body: "<html>Bad gateway</html>" };
    expect(await refused(reply)).toMatchObject({ error: { code: "model.unavailable" }, retryable: true });
  });

  test("a full context window has a code of its own", async () => {
    const failure = await refused({ status: 400, body: error("too long", "context_length_exceeded") });
    expect(failure).toMatchObject({ error: { code: "context_exceeded" }, retryable: false });
  });

  test("an account without quota isn't asked again, though its status is 429", async () => {
    const failure = await refused({ status: 429, body: error("quota", "insufficient_quota") });
    expect(failure).toMatchObject({ error: { code: "model.auth" }, retryable: false });
  });

  test("an unknown model is named", async () => {
    expect((await refused({ status: 404, body: error("no") })).error.message).toContain('"any"');
  });

  const wait = async (headers: Record<string, string>) =>
    (await refused({ status: 429, headers, body: error("slow down") })).retryAfterMs;

  test.each<[string, Record<string, string>, number | undefined]>([
    ["seconds", { "retry-after": "7" }, 7_000],
    ["a part of a second", { "retry-after": "0.5" }, 500],
    ["milliseconds, which win", { "retry-after-ms": "1250", "retry-after": "7" }, 1_250],
    ["an empty header beside a good one", { "retry-after-ms": "", "retry-after": "7" }, 7_000],
    ["less than nothing", { "retry-after": "-3" }, 0],
    ["less than nothing in milliseconds", { "retry-after-ms": "-3" }, 0],
    ["a date in the past", { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" }, 0],
    ["something else", { "retry-after": "soon" }, undefined],
    ["nothing", {}, undefined],
  ])("retry-after: %s", async (_, headers, ms) => {
    expect(await wait(headers)).toBe(ms);
  });

  test("retry-after: a date to come", async () => {
    const ms = await wait({ "retry-after": new Date(Date.now() + 60_000).toUTCString() });
    expect(ms).toBeGreaterThan(50_000);
    expect(ms).toBeLessThanOrEqual(60_000);
  });
});

describe("the connection", () => {
  test("refused: unavailable, and says why", async () => {
    const { baseURL } = server;
    await server.close();
    const answer = await createOpenAiChat({ model: "any", apiKey: "k", baseURL }).ask(request, never);
    expect(answer).toMatchObject({
      ok: false,
      failure: { error: { code: "model.unavailable" }, retryable: true },
    });
    expect(!answer.ok && answer.failure.error.message).toMatch(/ECONNREFUSED.*127\.0\.0\.1/);
    server = await chatServer();
  });

  test("dropped without an answer: unavailable, asked once", async () => {
    expect(await refused({ fault: "reset" })).toMatchObject({ error: { code: "model.unavailable" }, retryable: true });
  });

  test("never answers, and is aborted: the call ends at once and the connection is let go", async () => {
    server.reply = { fault: "never" };
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 50);
    const before = performance.now();
    const answer = await ask({}, stop.signal);
    expect(performance.now() - before).toBeLessThan(2_000);
    expect(answer).toMatchObject({ ok: false, failure: { error: { code: "model.unavailable" }, retryable: true } });
    for (let i = 0; i < 50 && server.aborted() === 0; i++) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(server.aborted()).toBe(1);
    expect(server.requests).toHaveLength(1);
  });

  test("aborted before it began: nothing goes out", async () => {
    const answer = await ask({}, AbortSignal.abort());
    expect(answer).toMatchObject({ ok: false, failure: { retryable: true } });
    expect(server.requests).toHaveLength(0);
  });
});

describe("settings", () => {
  test.each([undefined, ""])("base URL %p: OpenAI's own, whose newer models refuse max_tokens", async (baseURL) => {
    const real = globalThis.fetch;
    const sent: { url: string; body: Record<string, unknown> }[] = [];
    globalThis.fetch = async (url, init) => {
      sent.push({ url: String(url), body: JSON.parse(String(init?.body)) });
      return Response.json(completion());
    };
    try {
      await createOpenAiChat({ model: "gpt-5-mini", apiKey: "k", baseURL }).ask(request, never);
    } finally {
      globalThis.fetch = real;
    }
    expect(sent).toMatchObject([
      { url: "https://api.openai.com/v1/chat/completions", body: { max_completion_tokens: 64 } },
    ]);
    expect(sent[0]?.body).not.toHaveProperty("max_tokens");
  });

  test("organization and project go along where they are given", async () => {
    const { baseURL } = server;
    const model = createOpenAiChat({ model: "any", apiKey: "k", baseURL, organization: "org-1", project: "proj-1" });
    await model.ask(request, never);
    expect(server.requests[0]?.headers).toMatchObject({ "openai-organization": "org-1", "openai-project": "proj-1" });
  });

  test("the process' environment decides nothing: only what the adapter was given", async () => {
    const before = { ...process.env };
    Object.assign(process.env, {
      OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
      OPENAI_ORG_ID: "org",
      OPENAI_PROJECT_ID: "p",
    });
    try {
      await answered(completion());
      expect(server.requests[0]?.headers["openai-organization"]).toBeUndefined();
      expect(server.requests[0]?.headers["openai-project"]).toBeUndefined();
    } finally {
      process.env = before;
    }
  });
});
