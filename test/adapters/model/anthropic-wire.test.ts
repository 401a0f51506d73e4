// The server of these tests must be as strict as it says: what each rule is there to see, it sees.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { brain } from "../../support/wire/anthropic/brain.ts";
import { createWireAnthropic, type Fault, type WireAnthropic } from "../../support/wire/anthropic/index.ts";

let wire: WireAnthropic;
beforeAll(async () => {
  wire = await createWireAnthropic({ script: brain(), apiKey: "sk-test" });
});
afterAll(() => wire.close());

const HEADERS = { "x-api-key": "sk-test", "anthropic-version": "2023-06-01", "content-type": "application/json" };
const text = (words: string, more: object = {}): object => ({ type: "text", text: words, ...more });
const user = (...content: readonly object[]): object => ({ role: "user", content });
const assistant = (...content: readonly object[]): object => ({ role: "assistant", content });
const use = (id: string, name = "look", input: unknown = {}): object => ({ type: "tool_use", id, name, input });
const result = (id: string, more: object = { content: "found" }): object => ({
  type: "tool_result",
  tool_use_id: id,
  ...more,
});
const tool = (name = "look", schema: object = { type: "object" }): object => ({ name, input_schema: schema });
const BODY = { model: "claude-sonnet-5-5", max_tokens: 10, messages: [user(text("Hi."))], stream: true };
const marked = { cache_control: { type: "ephemeral" } };
const image = (data: string): object => ({ type: "image", source: { type: "base64", media_type: "image/png", data } });

const post = (body: unknown, headers: Record<string, string> = HEADERS): Promise<Response> =>
  fetch(`${wire.baseURL}/v1/messages`, {
    method: "POST",
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
const called = (...messages: readonly object[]): object => ({ ...BODY, tools: [tool()], messages });

describe("the server of these tests", () => {
  it("streams to whoever asks rightly", async () => {
    const response = await post(BODY);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    const events = (await response.text()).split("\n\n").map((event) => event.split("\n")[0]);
    expect(events.slice(0, 3)).toEqual(["event: message_start", "event: ping", "event: content_block_start"]);
    expect(events.slice(-4)).toEqual(["event: content_block_stop", "event: message_delta", "event: message_stop", ""]);
  });

  it.each([
    ["no key", BODY, { "anthropic-version": "2023-06-01", "content-type": "application/json" }, 401],
    ["another's key", BODY, { ...HEADERS, "x-api-key": "sk-no" }, 401],
    ["no version", BODY, { "x-api-key": "sk-test", "content-type": "application/json" }, 400],
    ["a version that there isn't", BODY, { ...HEADERS, "anthropic-version": "2020-01-01" }, 400],
    ["no JSON", "{", HEADERS, 400],
    ["too much", { ...BODY, system: [text("x".repeat(34_000_000))] }, HEADERS, 413],
  ])("refuses %s", async (_, body, headers, status) => {
    expect((await post(body, headers)).status).toBe(status);
  });

  it.each([
    ["a member that it doesn't know", { ...BODY, temperatur: 1 }, "Extra inputs"],
    ["no tokens", { ...BODY, max_tokens: 0 }, "max_tokens"],
    ["a blank text", { ...BODY, messages: [user(text(" "))] }, "non-whitespace"],
    ["an empty message", { ...BODY, messages: [user()] }, "non-empty"],
    ["the assistant first", { ...BODY, messages: [assistant(text("Hi.")), user(text("Hi."))] }, "first message"],
    ["two turns of one role", { ...BODY, messages: [user(text("a")), user(text("b"))] }, "alternate"],
    ["a lone surrogate", { ...BODY, messages: [user(text("\ud83d"))] }, "surrogate"],
    ["a prefilled answer", { ...BODY, messages: [user(text("a")), assistant(text("b"))] }, "prefill"],
    [
      "a blank at its end",
      { ...BODY, model: "claude-haiku-4-5", messages: [user(text("a")), assistant(text("b "))] },
      "trailing whitespace",
    ],
    ["a call without a result", called(user(text("a")), assistant(use("t")), user(text("b"))), "without `tool_result`"],
    ["a result without a call", called(user(result("t"))), "unexpected `tool_use_id`"],
    [
      "a result after a text",
      called(user(text("a")), assistant(use("t")), user(text("b"), result("t"))),
      "without `tool_result`",
    ],
    [
      "half the results",
      called(user(text("a")), assistant(use("t"), use("u")), user(result("t"))),
      "without `tool_result`",
    ],
    ["an id twice", called(user(text("a")), assistant(use("t"), use("t")), user(result("t"))), "unique"],
    ["an odd id", called(user(text("a")), assistant(use("t!")), user(result("t!"))), "messages.1.content.0.id"],
    [
      "an odd name",
      called(user(text("a")), assistant(use("t", "rm -rf")), user(result("t"))),
      "messages.1.content.0.name",
    ],
    [
      "arguments that are none",
      called(user(text("a")), assistant(use("t", "look", [])), user(result("t"))),
      "messages.1.content.0.input",
    ],
    [
      "an empty error",
      called(user(text("a")), assistant(use("t")), user(result("t", { is_error: true, content: "" }))),
      "cannot be empty",
    ],
    [
      "calls without tools",
      { ...BODY, messages: [user(text("a")), assistant(use("t")), user(result("t"))] },
      "must define tools",
    ],
    ["a choice without tools", { ...BODY, tool_choice: { type: "none" } }, "while providing tools"],
    ["two tools of a name", { ...BODY, tools: [tool(), tool()] }, "unique"],
    ["kinds at a schema's root", { ...BODY, tools: [tool("a", { type: "object", anyOf: [] })] }, "top level"],
    [
      "an odd name in a schema",
      { ...BODY, tools: [tool("a", { type: "object", properties: { "a b": {} } })] },
      "Property keys",
    ],
    [
      "a schema that is none",
      { ...BODY, tools: [tool("a", { type: "object", properties: { a: { type: "sting" } } })] },
      "invalid",
    ],
    ["five marks", { ...BODY, system: ["a", "b", "c", "d", "e"].map((t) => text(t, marked)) }, "maximum of 4"],
    [
      "an image of another kind",
      { ...BODY, messages: [user(image(Buffer.from("hello").toString("base64")))] },
      "does not appear",
    ],
    [
      "an image of eleven megabytes",
      { ...BODY, messages: [user(image(Buffer.alloc(8_250_000).toString("base64")))] },
      "10 MB",
    ],
    ["no base64", { ...BODY, messages: [user(image("%%%"))] }, "base64"],
    [
      "thinking that isn't its own",
      {
        ...BODY,
        messages: [
          user(text("a")),
          assistant({ type: "thinking", thinking: "x", signature: "y" }, text("b")),
          user(text("c")),
        ],
      },
      "Invalid `signature`",
    ],
    [
      "a turn that ends with thinking",
      {
        ...BODY,
        messages: [user(text("a")), assistant({ type: "thinking", thinking: "x", signature: "y" }), user(text("c"))],
      },
      "final block",
    ],
    ["a temperature", { ...BODY, temperature: 0 }, "not supported"],
    [
      "a budget for thinking",
      { ...BODY, thinking: { type: "enabled", budget_tokens: 1_024 } },
      "thinking.type.enabled",
    ],
    ["a forced call", { ...BODY, tools: [tool()], tool_choice: { type: "any" } }, "tool_choice.type"],
    [
      "an open output schema",
      { ...BODY, output_config: { format: { type: "json_schema", schema: { type: "object" } } } },
      "additionalProperties",
    ],
    [
      "a rule in an output schema",
      {
        ...BODY,
        output_config: {
          format: {
            type: "json_schema",
            schema: { type: "object", additionalProperties: false, properties: { n: { type: "number", minimum: 1 } } },
          },
        },
      },
      "not supported",
    ],
  ])("refuses %s", async (_, body, words) => {
    const response = await post(body);
    const { error } = (await response.json()) as {
      readonly error: { readonly type: string; readonly message: string };
    };
    expect([response.status, error.type, error.message]).toEqual([
      400,
      "invalid_request_error",
      expect.stringContaining(words),
    ]);
  });

  it("keeps books: refused and unfinished calls aren't delivered, refused ones and such as had not begun aren't billed", async () => {
    const faults: readonly (Fault | null)[] = [
      null,
      { fault: "cut", after: 8 },
      { status: 529 },
      { errorAfter: 3 },
      { errorAfter: 0 },
    ];
    const faulty = await createWireAnthropic({ script: () => "Hello.", faults: (n) => faults[n] ?? null });
    const asked = (body: object) =>
      fetch(`${faulty.baseURL}/v1/messages`, { method: "POST", headers: HEADERS, body: JSON.stringify(body) })
        .then((r) => r.text())
        .catch(() => "");
    for (const body of [...faults.map(() => BODY), { ...BODY, max_tokens: 0 }]) await asked(body);
    expect(
      faulty.ledger.map(({ billed, delivered, refusal }) => [billed !== null, delivered, refusal !== null]),
    ).toEqual([
      [true, true, false],
      [true, false, false],
      [false, false, false],
      [true, false, false],
      [false, false, false],
      [false, false, true],
    ]);
    await faulty.close();
  });
});
