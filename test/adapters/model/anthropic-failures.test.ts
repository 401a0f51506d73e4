// c10: what goes wrong on the way to Claude, each as a failure that says whether to ask again and what to do.

import { type AddressInfo, createServer, type Server } from "node:net";
import { afterAll, describe, expect, it } from "@jest/globals";
import { createAnthropic } from "../../../shared/adapters/model/anthropic/index.ts";
import { asking, closeAll, user } from "../../support/wire/anthropic/asking.ts";
import type { Fault } from "../../support/wire/anthropic/index.ts";

afterAll(closeAll);

const REQUEST = {
  model: "anthropic/claude-sonnet-5-5",
  system: "",
  tools: [],
  messages: [user("Hi.")],
  maxTokens: 10,
  options: {},
};

/** How a question ends on which this goes wrong; it is sent once, whatever happens. */
async function failedBy(fault: Fault, timeoutMs?: number) {
  const asked = await asking({
    script: () => "Hello there.",
    faults: () => fault,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  const { error, retryable, retryAfterMs } = await asked.failure({});
  expect(asked.wire.ledger).toHaveLength(1);
  return { code: error.code, message: error.message, retryable, retryAfterMs, deltas: asked.deltas };
}

describe("what was counted before a stream failed", () => {
  it.each<[string, Fault, boolean]>([
    ["an error in the stream", { errorAfter: 4 }, true],
    ["an answer that ends too early", { fault: "ends", after: 8 }, true],
    ["half an event", { halfJson: true }, true],
    ["an error before anything", { errorAfter: 0 }, false],
    ["a refusal", { status: 529, type: "overloaded_error" }, false],
  ])("%s", async (_, fault, counted) => {
    const whole = await asking({ script: () => "Hello there." });
    await whole.answer({});
    const asked = await asking({ script: () => "Hello there.", faults: () => fault });
    const { usage } = await asked.failure({});
    const input = whole.wire.ledger[0]?.billed;
    expect(usage).toEqual(
      counted
        ? {
            input: input?.input_tokens,
            cacheRead: input?.cache_read_input_tokens,
            cacheWrite: input?.cache_creation_input_tokens,
            output: 1, // as far as the model was
            reasoning: 0,
          }
        : undefined,
    );
    if (counted) expect(input?.cache_creation_input_tokens).toBeGreaterThan(0);
  });
});

describe("a question that may be asked again", () => {
  it.each([
    [{ status: 429, type: "rate_limit_error", message: "Slow down." }, "Slow down. (status 429, req_1)"],
    [{ status: 529, type: "overloaded_error", message: "Overloaded" }, "Overloaded (status 529, req_1)"],
    [{ status: 500 }, "a fault of the test (status 500, req_1)"],
    [{ status: 504, type: "timeout_error" }, "a fault of the test (status 504, req_1)"],
    [{ status: 409, type: "conflict_error" }, "a fault of the test (status 409, req_1)"],
    [{ fault: "html", status: 502 }, "503 Service is down (status 502)"],
    [{ errorAfter: 0 }, "Overloaded (req_stream)"],
    [{ errorAfter: 4, type: "api_error", message: "Internal" }, "Internal (req_stream)"],
    [{ errorAfter: 4, type: "rate_limit_error", message: "Slow down." }, "Slow down. (req_stream)"],
  ] as const)("is one that %j met", async (fault, message) => {
    expect(await failedBy(fault)).toMatchObject({ code: "model.unavailable", retryable: true, message });
  });

  it.each([
    [{ fault: "html" }, "text/html; charset=utf-8 instead of a stream: 503"],
    [{ json: { type: "message" } }, "application/json instead of a stream"],
    [{ fault: "empty", contentType: "text/event-stream" }, "broke off before its end"],
    [{ fault: "ends", after: 8 }, "broke off before its end"],
    [{ halfJson: true }, "can't be read"],
  ] as const)("is one whose answer is none: %j", async (fault, words) => {
    expect(await failedBy(fault)).toMatchObject({
      code: "model.bad_answer",
      retryable: true,
      message: expect.stringContaining(words),
    });
  });

  it("waits as long as the provider says", async () => {
    const waits = async (headers: Record<string, string>) => (await failedBy({ status: 429, headers })).retryAfterMs;
    expect(await waits({ "retry-after": "7" })).toBe(7_000);
    expect(await waits({ "retry-after-ms": "250", "retry-after": "7" })).toBe(250);
    const at = await waits({ "retry-after": new Date(Date.now() + 60_000).toUTCString() });
    expect(at).toBeGreaterThan(50_000);
    expect(at).toBeLessThanOrEqual(60_000);
    expect(await waits({})).toBeUndefined();
  });

  it("is one on a connection that breaks, or that nobody takes", async () => {
    expect(await failedBy({ fault: "cut", after: 8 })).toMatchObject({ code: "model.unavailable", retryable: true });
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const model = createAnthropic({ model: "claude-x", apiKey: "k", baseURL: `http://127.0.0.1:${port}` });
    expect(await model.ask(REQUEST, new AbortController().signal)).toMatchObject({
      ok: false,
      failure: {
        retryable: true,
        error: { code: "model.unavailable", message: expect.stringContaining("ECONNREFUSED") },
      },
    });
  });

  it("is one that nothing answers, from the start or in the middle", async () => {
    for (const fault of [{ fault: "hang" }, { fault: "stalls", after: 0 }, { fault: "stalls", after: 8 }] as const) {
      const { message, ...rest } = await failedBy(fault, 150);
      expect(rest).toMatchObject({ code: "model.unavailable", retryable: true });
      expect(message).toBe("The provider sent nothing for 0.15 s.");
    }
  });

  it("is one on a connection that takes bytes and gives none", async () => {
    const mute: Server = createServer((socket) => socket.resume());
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
    const { port } = mute.address() as AddressInfo;
    const model = createAnthropic({
      model: "claude-x",
      apiKey: "k",
      baseURL: `http://127.0.0.1:${port}`,
      timeoutMs: 100,
    });
    expect(await model.ask(REQUEST, new AbortController().signal)).toMatchObject({
      ok: false,
      failure: { retryable: true },
    });
    await new Promise((resolve) => mute.close(resolve));
  });

  it("is waited for as long as something comes: pings are signs of life", async () => {
    const { answer } = await asking({
      script: () => "Slowly but surely, word by word.",
      faults: () => ({ fault: "slow", everyMs: 20 }),
      timeoutMs: 200,
    });
    expect((await answer({})).content).toEqual([{ type: "text", text: "Slowly but surely, word by word." }]);
  });
});

describe("a watcher", () => {
  it("c10: is told that what it saw of a failed answer is void, so that nothing is doubled", async () => {
    const asked = await asking({ script: () => "Hello there.", faults: (n) => (n === 0 ? { errorAfter: 5 } : null) });
    await asked.failure({});
    expect(asked.deltas.at(-1)).toEqual({ type: "restart" });
    await asked.answer({});
    const after = asked.deltas.slice(asked.deltas.findLastIndex(({ type }) => type === "restart") + 1);
    expect(after.map((delta) => ("text" in delta ? delta.text : "")).join("")).toBe("Hello there.");
  });

  it("is told nothing where it saw nothing", async () => {
    const { deltas } = await failedBy({ status: 529 });
    expect(deltas).toEqual([]);
  });
});

describe("a stopped question", () => {
  it("ends at once and hangs up, before an answer and within one", async () => {
    for (const fault of [{ fault: "hang" }, { fault: "stalls", after: 10 }] as const) {
      const { ask, wire, deltas } = await asking({ script: () => "Hello there.", faults: () => fault });
      const stop = new AbortController();
      const asked = ask({}, {}, stop.signal);
      while (wire.ledger.length === 0 || ("after" in fault && deltas.length === 0))
        await new Promise((resolve) => setTimeout(resolve, 5));
      stop.abort();
      expect(await asked).toMatchObject({
        ok: false,
        failure: { error: { code: "model.unavailable", message: "The call was stopped." }, retryable: true },
      });
      while (!wire.ledger[0]?.hungUp) await new Promise((resolve) => setTimeout(resolve, 5));
      expect(wire.ledger).toHaveLength(1);
    }
  });

  it("is never sent when it was stopped before", async () => {
    const { ask, wire } = await asking();
    expect(await ask({}, {}, AbortSignal.abort())).toMatchObject({ ok: false, failure: { retryable: true } });
    expect(wire.ledger).toHaveLength(0);
  });
});

describe("a question that is refused", () => {
  it("without a key has no header for one: a gateway may hold it", async () => {
    const { failure, wire } = await asking({ key: "" });
    expect((await failure({})).error.code).toBe("model.auth");
    expect(wire.ledger[0]?.headers).not.toHaveProperty("x-api-key");
  });

  it("for its key says what to set", async () => {
    const { failure } = await asking({ apiKey: "sk-right", key: "sk-wrong" });
    expect(await failure({})).toEqual({
      error: {
        code: "model.auth",
        message: "Anthropic refused the key: set ANTHROPIC_API_KEY. (invalid x-api-key (status 401, req_1))",
      },
      retryable: false,
    });
  });

  it.each([
    [{ status: 403, type: "permission_error" }, "model.auth"],
    [{ status: 402, type: "billing_error" }, "model.auth"],
    [{ status: 400, message: "Your credit balance is too low to access the Anthropic API." }, "model.auth"],
    [{ status: 400, message: "prompt is too long: 210000 tokens > 200000 maximum" }, "context_exceeded"],
    [
      { status: 400, message: "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000" },
      "context_exceeded",
    ],
    [{ status: 413, type: "request_too_large", message: "Request exceeds the maximum size" }, "context_exceeded"],
    [{ fault: "html", status: 413 }, "context_exceeded"],
    [
      { status: 400, message: "max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens" },
      "model.bad_request",
    ],
    [{ status: 404, type: "not_found_error", message: "model: claude-x" }, "model.bad_request"],
    [{ status: 422 }, "model.bad_request"],
    [{ errorAfter: 1, type: "invalid_request_error", message: "no" }, "model.bad_request"],
  ] as const)("with %j isn't asked again as it is", async (fault, code) => {
    expect(await failedBy(fault)).toMatchObject({ code, retryable: false });
  });

  it("for the length of its input is one of the model's real window", async () => {
    const { failure } = await asking({ window: 100 });
    const { error } = await failure({ messages: [user("long ".repeat(200))] });
    expect(error).toMatchObject({ code: "context_exceeded", message: expect.stringContaining("prompt is too long") });
  });
});
