// Over 300 lines: one table of what can go wrong over real HTTP, and what is made of it: what another try may mend, what somebody must set or grant, what
// is wrong with the request. Each question is asked once: the engine's policy of retries is the only one (c10).
import { describe, expect, test } from "@jest/globals";
import { createBedrock } from "../../../shared/adapters/model/bedrock/index.ts";
import type { ErrorCode } from "../../../shared/core/errors.ts";
import type { Delta, ModelFailure } from "../../../shared/ports/model.ts";
import { CLAUDE, CREDENTIALS, NEVER, REQUEST, wiring } from "../../support/wire/bedrock/harness.ts";
import type { Fault } from "../../support/wire/bedrock/server.ts";

const wire = wiring();

async function failedBy(fault: Fault): Promise<ModelFailure> {
  const { failed, server } = await wire(CLAUDE, { faults: () => fault, script: () => "A long answer. ".repeat(20) });
  const failure = await failed();
  expect(server.ledger).toHaveLength(1);
  return failure;
}
const exception = (status: number, name: string, message: string): Fault => ({
  fault: "exception",
  status,
  name,
  message,
});

describe("another try may mend it", () => {
  test.each([
    [429, "ThrottlingException", "Too many tokens, please wait before trying again."],
    [429, "ThrottlingException", "Too many requests: the input exceeds your quota of tokens per minute."],
    [429, "ModelNotReadyException", "The model is not ready for inference."],
    [400, "ServiceQuotaExceededException", "Your request exceeds the service quota for your account."],
    [503, "ServiceUnavailableException", "The service is unavailable."],
    [500, "InternalServerException", "The server failed."],
    [408, "ModelTimeoutException", "The model took too long."],
    [424, "ModelErrorException", "Model produced invalid sequence as part of ToolUse."],
    [424, "ModelStreamErrorException", "The stream broke."],
    [529, "SomethingNew", "Overloaded."],
  ])("status %d, %s", async (status, name, message) => {
    expect(await failedBy(exception(status, name, message))).toMatchObject({
      error: { code: "model.unavailable", message: `${name}: ${message}` },
      retryable: true,
    });
  });

  test.each([
    "throttlingException",
    "serviceUnavailableException",
    "internalServerException",
    "modelStreamErrorException",
  ])("c10: %s after status 200, at once or in the middle", async (name) => {
    for (const after of [0, 1, 4]) {
      const { error, retryable } = await failedBy({ fault: "midStream", name, message: "Sorry.", after });
      expect(error).toEqual({
        code: "model.unavailable",
        message: `${name[0]?.toUpperCase()}${name.slice(1)}: Sorry.`,
      });
      expect(retryable).toBe(true);
    }
  });

  test("an error in the stream that the API doesn't name", async () => {
    const failure = await failedBy({ fault: "streamError", code: "InternalFailure", message: "Oh.", after: 2 });
    expect(failure).toMatchObject({
      error: { code: "model.unavailable", message: "InternalFailure: Oh." },
      retryable: true,
    });
  });

  test.each<[ErrorCode, Fault, string]>([
    ["model.unavailable", { fault: "reset" }, "No connection to http://127.0.0.1"],
    ["model.unavailable", { fault: "cut", after: 3 }, "broke off within the answer"],
    ["model.bad_answer", { fault: "ends", after: 0 }, "it was empty"],
    ["model.bad_answer", { fault: "ends", after: 3 }, "it broke off after 3 events"],
    ["model.bad_answer", { fault: "corrupt", after: 2 }, "can't be read"],
    ["model.bad_answer", { fault: "html" }, "status 200, text/html; charset=utf-8: 503 Service is down"],
    ["model.bad_answer", { fault: "empty" }, "isn't Bedrock's"],
    ["model.bad_answer", { fault: "empty", contentType: "application/vnd.amazon.eventstream" }, "it was empty"],
    ["model.unavailable", { fault: "html", status: 503 }, "status 503"],
    ["model.unavailable", { fault: "empty", status: 502 }, "status 502"],
    ["model.unavailable", { fault: "html", status: 429 }, "status 429"],
  ])("%s: %j", async (code, fault, words) => {
    const { error, retryable } = await failedBy(fault);
    expect({ code: error.code, retryable }).toEqual({ code, retryable: true });
    expect(error.message).toContain(words);
  });

  test("an answer whose tokens never came: the books would be wrong", async () => {
    const { failed, server } = await wire(CLAUDE, { script: () => "Yes." });
    server.faults = () => ({ fault: "ends", after: 4 }); // start, text, its end, the message's end
    expect(await failed()).toMatchObject({ error: { code: "model.bad_answer" }, retryable: true });
  });

  test.each([
    ["7", 7_000, 7_000],
    [new Date(Date.now() + 60_000).toUTCString(), 50_000, 60_000],
    ["soon", undefined, undefined],
  ])("retry-after: %s", async (after, least, most) => {
    const headers = { "retry-after": after };
    const { retryAfterMs } = await failedBy({
      fault: "exception",
      status: 429,
      name: "ThrottlingException",
      message: "Slow.",
      headers,
    });
    if (least === undefined) expect(retryAfterMs).toBeUndefined();
    else expect(retryAfterMs).toBeGreaterThanOrEqual(least);
    if (most !== undefined) expect(retryAfterMs).toBeLessThanOrEqual(most);
  });

  test.each<[boolean, Fault]>([
    [true, exception(429, "ThrottlingException", "Slow.")],
    [true, { fault: "midStream", name: "throttlingException", message: "Slow.", after: 2 }],
    [true, { fault: "html", status: 429 }],
    [false, exception(503, "ServiceUnavailableException", "Away.")],
  ])("throttled, so that all workers wait: %s for %j", async (throttled, fault) => {
    expect("throttled" in (await failedBy(fault))).toBe(throttled);
  });

  test("nobody listens there", async () => {
    const { server, failed } = await wire();
    await server.close();
    const { error, retryable } = await failed();
    expect(error.code).toBe("model.unavailable");
    expect(error.message).toContain("ECONNREFUSED");
    expect(retryable).toBe(true);
  });

  test("a host that there isn't", async () => {
    const model = createBedrock({
      model: CLAUDE,
      region: "us-east-1",
      endpoint: "http://no-such-host.invalid",
      credentials: CREDENTIALS,
    });
    expect(await model.ask(REQUEST, NEVER)).toMatchObject({
      ok: false,
      failure: { error: { code: "model.unavailable" }, retryable: true },
    });
  });

  test.each<Fault>([
    { fault: "midStream", name: "modelStreamErrorException", message: "Sorry.", after: 5 },
    { fault: "corrupt", after: 5 },
  ])("an answer of which all came is one, whatever comes after it: $fault", async (fault) => {
    const content = [{ text: "Yes." }];
    const trailing = { guardrail: {} }; // one event more than there is to say
    const { ask } = await wire(CLAUDE, { script: () => ({ content, trace: trailing }), faults: () => fault });
    expect(await ask()).toMatchObject({ ok: true, response: { content, stopReason: "end" } });
  });

  test("what came before the failure isn't said twice, and the next try is whole", async () => {
    const { ask, server } = await wire(CLAUDE, { script: () => "One, two, three, four, five, six." });
    server.faults = (n) =>
      n === 0 ? { fault: "midStream", name: "throttlingException", message: "Slow.", after: 2 } : null;
    const heard: Delta[] = [];
    const context = { media: () => Promise.resolve(null), onDelta: (delta: Delta) => void heard.push(delta) };
    expect(await ask({}, { context })).toMatchObject({ ok: false });
    expect(heard.map(({ type }) => type)).toEqual(["text", "restart"]);
    const second = await ask({}, { context });
    expect(second).toMatchObject({ ok: true, response: { content: [{ text: "One, two, three, four, five, six." }] } });
  });
});

describe("time", () => {
  test.each<[string, Fault]>([
    ["never answers", { fault: "hang" }],
    ["falls silent", { fault: "stalls", after: 2 }],
  ])("one that %s is given up", async (_, fault) => {
    const { failed } = await wire(CLAUDE, { faults: () => fault, silenceMs: 1_000 });
    expect(await failed()).toEqual({
      error: { code: "model.unavailable", message: "Bedrock sent nothing for 1 s." },
      retryable: true,
    });
  });

  test("signs of life keep a slow answer going", async () => {
    const fault: Fault = { fault: "slow", everyMs: 100 };
    const { answered } = await wire(CLAUDE, {
      script: () => "word ".repeat(100),
      faults: () => fault,
      silenceMs: 1_000,
    });
    const before = performance.now();
    expect((await answered()).content).toHaveLength(1);
    expect(performance.now() - before).toBeGreaterThan(1_000); // longer than any silence that it takes
  });

  test.each<[string, Fault | null]>([
    ["before an answer", { fault: "hang" }],
    ["within it", { fault: "stalls", after: 2 }],
  ])("stopped %s: the connection is closed", async (_, fault) => {
    const { ask, server } = await wire(CLAUDE, { faults: () => fault });
    const stop = new AbortController();
    const asked = ask({}, { signal: stop.signal });
    setTimeout(() => stop.abort(), 100);
    expect(await asked).toEqual({
      ok: false,
      failure: { error: { code: "model.unavailable", message: "The call was stopped." }, retryable: true },
    });
    for (let i = 0; i < 100 && server.abandoned() === 0; i++) await new Promise((go) => setTimeout(go, 10));
    expect(server.abandoned()).toBe(1);
  });

  test("stopped before it began, nothing is sent", async () => {
    const { ask, server } = await wire();
    expect(await ask({}, { signal: AbortSignal.abort() })).toMatchObject({ ok: false, failure: { retryable: true } });
    expect(server.ledger).toHaveLength(0);
  });
});

describe("somebody must set or grant something", () => {
  test.each([
    [403, "UnrecognizedClientException", "The security token included in the request is invalid."],
    [403, "ExpiredTokenException", "The security token included in the request is expired"],
    [
      403,
      "InvalidSignatureException",
      "The request signature we calculated does not match the signature you provided.",
    ],
    [403, "MissingAuthenticationTokenException", "Missing Authentication Token"],
    [400, "IncompleteSignature", "Incomplete."],
    [401, "SomethingNew", "Who are you?"],
  ])("status %d, %s: the credentials", async (status, name, message) => {
    const { error, retryable } = await failedBy(exception(status, name, message));
    expect({ code: error.code, retryable }).toEqual({ code: "model.auth", retryable: false });
    for (const words of ["AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", message])
      expect(error.message).toContain(words);
  });

  test.each([
    [
      403,
      "AccessDeniedException",
      "User: arn:aws:iam::1:user/x is not authorized to perform: bedrock:InvokeModelWithResponseStream",
    ],
    [403, "AccessDeniedException", "You don't have access to the model with the specified model ID."],
  ])("status %d, %s: the permission", async (status, name, message) => {
    const { error, retryable } = await failedBy(exception(status, name, message));
    expect({ code: error.code, retryable }).toEqual({ code: "model.auth", retryable: false });
    for (const words of [CLAUDE, "us-east-1", "bedrock:InvokeModelWithResponseStream", "access to the model", message])
      expect(error.message).toContain(words);
  });

  test("Anthropic's form, not filled in", async () => {
    const message =
      "Model use case details have not been submitted for this account. Fill out the Anthropic use case details form before using the model.";
    const { error } = await failedBy(exception(404, "ResourceNotFoundException", message));
    expect(error.code).toBe("model.auth");
    expect(error.message).toContain("fill in its form in the Bedrock console");
  });

  test("no credentials anywhere", async () => {
    const { server } = await wire();
    const kept = { ...process.env };
    for (const name of Object.keys(process.env)) if (name.startsWith("AWS_")) delete process.env[name];
    Object.assign(process.env, {
      AWS_EC2_METADATA_DISABLED: "true",
      AWS_CONFIG_FILE: "/dev/null",
      AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
    });
    try {
      const model = createBedrock({ model: CLAUDE, region: "us-east-1", endpoint: server.url });
      const answer = await model.ask(REQUEST, NEVER);
      expect(answer).toMatchObject({ ok: false, failure: { error: { code: "model.auth" }, retryable: false } });
      expect(!answer.ok && answer.failure.error.message).toContain("AWS_ACCESS_KEY_ID");
      expect(server.ledger).toHaveLength(0);
    } finally {
      for (const name of Object.keys(process.env)) if (name.startsWith("AWS_")) delete process.env[name];
      Object.assign(process.env, kept);
    }
  });

  test("c14: a clock that is five minutes off costs one try, and no human", async () => {
    const { failed, answered, server } = await wire();
    const date = new Date(Date.now() + 6 * 60_000).toUTCString();
    const message = "Signature not yet current";
    server.faults = (n) =>
      n === 0
        ? { fault: "exception", status: 403, name: "InvalidSignatureException", message, headers: { date } }
        : null;
    const { error, retryable } = await failed();
    expect(error.code).toBe("model.unavailable");
    expect(error.message).toContain("clock");
    expect(retryable).toBe(true);
    await answered();
    const sent = String(server.ledger[1]?.headers["x-amz-date"]);
    const at = Date.parse(sent.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
    expect(at - Date.now()).toBeGreaterThan(5 * 60_000);
  });
});

describe("something is wrong with the request", () => {
  test.each([
    "Input is too long for requested model.",
    "The model returned the following errors: prompt is too long: 903884 tokens > 200000 maximum",
    "The model returned the following errors: input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
    "Too many input tokens. Max input tokens: 8192, request input token count: 9000",
    "This model's maximum context length is 128000 tokens. Please reduce the length of the prompt",
    "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.",
  ])("too long: %s", async (message) => {
    expect(await failedBy(exception(400, "ValidationException", message))).toEqual({
      error: { code: "context_exceeded", message },
      retryable: false,
    });
  });

  test("too long, told in the stream", async () => {
    const fault: Fault = {
      fault: "midStream",
      name: "validationException",
      message: "Input is too long for requested model.",
      after: 0,
    };
    expect(await failedBy(fault)).toMatchObject({ error: { code: "context_exceeded" }, retryable: false });
  });

  test("refused within a stream that began: it may be billed, so it isn't asked again", async () => {
    const message = "this stream doesn't support cachePoint";
    const fault: Fault = { fault: "midStream", name: "validationException", message, after: 2 };
    expect(await failedBy(fault)).toEqual({ error: { code: "model.bad_request", message }, retryable: false });
  });

  test("a body that is too large", async () => {
    expect(await failedBy({ fault: "html", status: 413 })).toMatchObject({
      error: { code: "context_exceeded" },
      retryable: false,
    });
    expect(await failedBy(exception(413, "RequestEntityTooLargeException", "Too large."))).toMatchObject({
      error: { code: "context_exceeded" },
    });
  });

  test.each([
    "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.",
    "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5",
    "The provided model identifier is invalid.",
    "Malformed input request: #: required key [messages] not found, please reformat your input and try again.",
  ])("anything else: %s", async (message) => {
    expect(await failedBy(exception(400, "ValidationException", message))).toEqual({
      error: { code: "model.bad_request", message },
      retryable: false,
    });
  });

  test("a model that only profiles serve", async () => {
    const message =
      "Invocation of model ID anthropic.claude-opus-5 with on-demand throughput isn't supported. Retry your request with the ID or ARN of an inference profile that contains this model.";
    const { error } = await failedBy(exception(400, "ValidationException", message));
    expect(error.code).toBe("model.bad_request");
    expect(error.message).toContain("put us., eu., apac. or global. before it");
  });

  test("a model that there isn't", async () => {
    const { error, retryable } = await failedBy(
      exception(
        404,
        "ResourceNotFoundException",
        "Could not resolve the foundation model from the provided model identifier.",
      ),
    );
    expect({ code: error.code, retryable }).toEqual({ code: "model.bad_request", retryable: false });
    expect(error.message).toContain(CLAUDE);
  });

  test("a page where Bedrock should be", async () => {
    const { error, retryable } = await failedBy({ fault: "html", status: 404 });
    expect({ code: error.code, retryable }).toEqual({ code: "model.bad_request", retryable: false });
    expect(error.message).toContain("isn't Bedrock's");
  });

  test("a message without words has some", async () => {
    const { error } = await failedBy(exception(400, "ValidationException", ""));
    expect(error.message.trim()).not.toBe("");
  });
});

test("a connection that the server has closed meanwhile is another try's at worst", async () => {
  const { ask, server } = await wire();
  expect(await ask()).toMatchObject({ ok: true });
  server.faults = (n) => (n === 1 ? { fault: "reset" } : null);
  expect(await ask()).toMatchObject({ ok: false, failure: { retryable: true } });
  expect(await ask()).toMatchObject({ ok: true });
});
