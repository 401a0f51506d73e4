// What goes wrong on the way to OpenAI and back: asked once, said in words, and whether another try may help. By both interfaces.
import { afterAll, describe, expect, test } from "@jest/globals";
import type { ModelFailure } from "../../../shared/ports/model.ts";
import { inOrder } from "../../support/wire/faults.ts";
import { type AskingOptions, asking, closeAll, WATCHED } from "../../support/wire/openai/asking.ts";
import type { Fault } from "../../support/wire/openai/index.ts";

afterAll(closeAll);

/** Of many pieces, so that it can break off within. */
const LONG = "All of it. ".repeat(20);
const APIS = ["responses", "chat"] as const;

async function failed(api: string, fault: Fault, more: AskingOptions = {}): Promise<ModelFailure> {
  const { failure, wire } = await asking({
    model: "gpt-4o",
    script: () => LONG,
    faults: inOrder<Fault>(fault),
    ...more,
  });
  const found = await failure({ options: { api } });
  expect(wire.ledger).toHaveLength(1); // the engine's policy of retries is the only one
  expect(found.error.message.length).toBeGreaterThan(10);
  return found;
}

describe.each(APIS)("by %s", (api) => {
  test.each<[string, Fault, string, boolean]>([
    ["400", { status: 400, type: "invalid_request_error", message: "bad tools" }, "model.bad_request", false],
    ["401", { status: 401, code: "invalid_api_key", message: "Incorrect API key provided" }, "model.auth", false],
    ["403", { status: 403, message: "Country, region, or territory not supported" }, "model.auth", false],
    ["404", { status: 404, code: "model_not_found", message: "The model does not exist" }, "model.bad_request", false],
    [
      "403 for a model",
      { status: 403, code: "model_not_found", message: "Project has no access" },
      "model.bad_request",
      false,
    ],
    ["408", { status: 408, message: "slow" }, "model.unavailable", true],
    ["409", { status: 409, message: "conflict" }, "model.unavailable", true],
    ["422", { status: 422, message: "unprocessable" }, "model.bad_request", false],
    ["429", { status: 429, code: "rate_limit_exceeded", message: "Rate limit reached" }, "model.unavailable", true],
    [
      "a quota",
      { status: 429, code: "insufficient_quota", message: "You exceeded your current quota" },
      "model.auth",
      false,
    ],
    [
      "an empty account",
      { status: 429, type: "insufficient_quota", code: "credit_balance_exhausted", message: "no credit" },
      "model.auth",
      false,
    ],
    ["500", { status: 500, message: "The server had an error" }, "model.unavailable", true],
    [
      "502 as a page",
      { status: 502, body: "<html><style>p{}</style><h1>Bad gateway</h1></html>" },
      "model.unavailable",
      true,
    ],
    ["503", { status: 503, code: "slow_down", message: "Slow down" }, "model.unavailable", true],
    ["529", { status: 529, message: "overloaded" }, "model.unavailable", true],
    ["a prompt against the rules", { status: 400, code: "invalid_prompt", message: "flagged" }, "model.refused", false],
    [
      "a long prompt",
      { status: 400, code: "context_length_exceeded", message: "Your input exceeds the context window" },
      "context_exceeded",
      false,
    ],
    [
      "a request over its minute's tokens",
      { status: 429, code: "rate_limit_exceeded", message: "Request too large for gpt-4o on tokens per min" },
      "context_exceeded",
      false,
    ],
    [
      "an answer that may not be so long",
      { status: 400, message: "max_tokens is too large: 99999. This model supports at most 16384 completion tokens" },
      "model.bad_request",
      false,
    ],
    [
      "an error that is text",
      { status: 404, body: { error: 'model "x" not found, try pulling it first' } },
      "model.bad_request",
      false,
    ],
    [
      "a `detail`",
      { status: 422, body: { detail: [{ loc: ["body"], msg: "extra fields" }] } },
      "model.bad_request",
      false,
    ],
    ["no body", { fault: "empty", status: 500 }, "model.unavailable", true],
  ])("%s", async (_, fault, code, retryable) => {
    const found = await failed(api, fault);
    expect(found).toMatchObject({ error: { code }, retryable });
    expect(found.throttled ?? false).toBe("status" in fault && fault.status === 429 && code === "model.unavailable");
    const words = "message" in fault ? fault.message : undefined;
    expect(found.error.message).toContain(words ?? "");
    expect(found.error.message).not.toContain("<");
  });

  test("an error of another form keeps its words", async () => {
    expect((await failed(api, { status: 422, body: { detail: [{ msg: "extra fields" }] } })).error.message).toContain(
      "extra fields",
    );
    expect((await failed(api, { status: 404, body: { error: "try pulling it first" } })).error.message).toContain(
      "try pulling it first",
    );
    expect((await failed(api, { status: 502, body: "<h1>Bad gateway</h1>" })).error.message).toContain("Bad gateway");
  });

  test("what a key needs is said, and of a server's own which server", async () => {
    expect((await failed(api, { status: 401, message: "no" })).error.message).toMatch(
      /set OPENAI_API_KEY\. \(no \(status 401, req_fault\)\)/,
    );
    const { error } = await failed(api, { status: 401, message: "no" }, { server: true });
    expect(error.message).toMatch(
      /set OPENAI_API_KEY to what the server at OPENAI_BASE_URL \(127\.0\.0\.1:\d+\) takes/,
    );
  });

  test("a wrong key is refused by the server itself", async () => {
    const { failure } = await asking({ apiKey: "sk-right", key: "sk-wrong" });
    expect(await failure({ options: { api } })).toMatchObject({ error: { code: "model.auth" }, retryable: false });
  });

  test("a conversation over the window is said to be one", async () => {
    const { failure } = await asking({ model: "gpt-4o", window: 100 });
    expect((await failure({ system: "long ".repeat(200), options: { api } })).error.code).toBe("context_exceeded");
  });

  test.each<[string, Record<string, string>, number | undefined]>([
    ["seconds", { "retry-after": "7" }, 7_000],
    ["milliseconds, which win", { "retry-after-ms": "1250", "retry-after": "7" }, 1_250],
    ["less than nothing", { "retry-after": "-3" }, 0],
    ["a date in the past", { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" }, 0],
    ["something else", { "retry-after": "soon" }, undefined],
    ["and no retry of the SDK's", { "x-should-retry": "true" }, undefined],
  ])("retry-after: %s", async (_, headers, ms) => {
    expect((await failed(api, { status: 429, headers })).retryAfterMs).toBe(ms);
  });

  test.each<[string, Fault, string]>([
    ["a page instead of an answer", { fault: "html" }, "model.bad_answer"],
    ["nothing at all", { fault: "empty" }, "model.bad_answer"],
    ["nothing, as a stream", { fault: "empty", contentType: "text/event-stream" }, "model.bad_answer"],
    ["a dropped connection", { fault: "reset" }, "model.unavailable"],
    ["a stream that breaks off", { fault: "cut", after: 7 }, "model.unavailable"],
    ["a stream that ends too early", { fault: "ends", after: 8 }, "model.bad_answer"],
    ["half an event", { fault: "ends", after: 9 }, "model.bad_answer"],
  ])("%s may be asked again", async (_, fault, code) => {
    expect(await failed(api, fault)).toMatchObject({ error: { code }, retryable: true });
  });

  test("c10: an error within a stream: what was shown is void, the next try is whole and not doubled", async () => {
    const { ask, answer, deltas, wire } = await asking({
      model: "gpt-4o",
      script: () => LONG,
      faults: inOrder<Fault>({ errorAfter: 7, code: "server_error", message: "Overloaded" }),
    });
    expect(await ask({ options: { api } }, WATCHED)).toMatchObject({
      ok: false,
      failure: {
        error: { code: "model.unavailable", message: expect.stringContaining("Overloaded") },
        retryable: true,
      },
    });
    expect(deltas.at(-1)).toEqual({ type: "restart" });
    const { content, usage } = await answer({ options: { api } }, WATCHED);
    expect(content).toEqual([{ type: "text", text: LONG }]);
    const last = deltas.slice(deltas.findLastIndex(({ type }) => type === "restart") + 1);
    expect(last.map((delta) => ("text" in delta ? delta.text : "")).join("")).toBe(LONG);
    expect(wire.ledger.flatMap(({ billed }) => billed ?? [])).toHaveLength(1);
    expect(usage.output).toBe(wire.ledger[1]?.billed?.output);
  });

  test("silence before an answer ends the try, and its connection", async () => {
    const { failure, wire } = await asking({
      model: "gpt-4o",
      silenceMs: 1_000,
      faults: inOrder<Fault>({ fault: "hang" }),
    });
    const found = await failure({ options: { api } });
    expect(found).toMatchObject({
      error: { code: "model.unavailable", message: "The provider sent nothing for 1 s." },
      retryable: true,
    });
    expect(wire.ledger).toHaveLength(1);
  });

  test("silence within one too, after some of it was shown", async () => {
    const { ask, deltas } = await asking({
      model: "gpt-4o",
      script: () => LONG,
      silenceMs: 1_000,
      faults: inOrder<Fault>({ fault: "stalls", after: 14 }),
    });
    expect(await ask({ options: { api } }, WATCHED)).toMatchObject({
      ok: false,
      failure: { error: { message: expect.stringContaining("nothing for") } },
    });
    expect(deltas.at(-1)).toEqual({ type: "restart" });
  });

  test("signs of life keep a slow answer going", async () => {
    const { answer } = await asking({
      model: "gpt-4o",
      silenceMs: 1_000,
      script: () => "word ".repeat(20),
      faults: inOrder<Fault>({ fault: "slow", everyMs: 30 }),
    });
    expect((await answer({ options: { api } })).content).toHaveLength(1);
  });

  test("an abort stops the call at once", async () => {
    const { ask } = await asking({ faults: inOrder<Fault>({ fault: "hang" }) });
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 30);
    const before = performance.now();
    expect(await ask({ options: { api } }, {}, stop.signal)).toMatchObject({
      ok: false,
      failure: { error: { message: "The call was stopped." }, retryable: true },
    });
    expect(performance.now() - before).toBeLessThan(2_000);
  });

  test("aborted before it began: nothing goes out", async () => {
    const { ask, wire } = await asking();
    expect(await ask({ options: { api } }, {}, AbortSignal.abort())).toMatchObject({
      ok: false,
      failure: { retryable: true },
    });
    expect(wire.ledger).toHaveLength(0);
  });

  test("nobody listens: it says where", async () => {
    const { wire, failure } = await asking({ server: true });
    await wire.close();
    const found = await failure({ options: { api } });
    expect(found).toMatchObject({ error: { code: "model.unavailable" }, retryable: true });
    expect(found.error.message).toMatch(/ECONNREFUSED.*127\.0\.0\.1/);
  });
});

test("a stream of chat completions that breaks off after its answer has ended costs nothing but its usage", async () => {
  const { answer } = await asking({
    model: "gpt-4o",
    script: () => "Hi!",
    faults: inOrder<Fault>({ fault: "cut", after: 6 }),
  });
  expect(await answer({ options: { api: "chat" } })).toMatchObject({
    content: [{ type: "text", text: "Hi!" }],
    usage: { output: 0 },
  });
});
