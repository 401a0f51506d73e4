// Over 300 lines: each case stands with the exchange that it is about. OpenAI's Responses API over real HTTP, held to a strict server: what goes out, and what is made of every answer.
import { afterAll, describe, expect, test } from "@jest/globals";
import { factsOf } from "../../../shared/adapters/model/table.ts";
import { costOf } from "../../../shared/core/cost.ts";
import { asking, assistant, closeAll, result, use, user, WATCHED } from "../../support/wire/openai/asking.ts";
import type { Reply } from "../../support/wire/openai/index.ts";

afterAll(closeAll);

const SCHEMA = { type: "object", properties: { n: { type: "number" } } };

describe("the request", () => {
  test("a plain one: streamed, kept nowhere, reasoning asked for in a form that can go back", async () => {
    const { answer, sent } = await asking();
    await answer({ tools: [] });
    expect(sent().path).toBe("/v1/responses");
    expect(sent().headers.authorization).toMatch(/^Bearer sk-/);
    expect(sent().headers["user-agent"]).toBe("toren");
    expect(Object.keys(sent().headers).filter((name) => name.startsWith("x-stainless"))).toEqual([]);
    expect(sent().body).toEqual({
      model: "gpt-5-mini",
      input: [{ type: "message", role: "user", content: "Hi." }],
      instructions: "You are brief.",
      max_output_tokens: 64,
      store: false,
      include: ["reasoning.encrypted_content"],
      prompt_cache_key: expect.stringMatching(/^[0-9a-f]{32}$/),
      stream: true,
    });
  });

  test("equal questions are equal bytes; another conversation has another cache key", async () => {
    const { answer, sent } = await asking();
    await answer();
    await answer();
    await answer({ messages: [user("Hello.")] });
    await answer({ messages: [user("Hi."), assistant({ type: "text", text: "Yes?" }), user("More.")] });
    expect(sent(0).raw).toBe(sent(1).raw);
    expect(sent(2).body.prompt_cache_key).not.toBe(sent(0).body.prompt_cache_key);
    expect(sent(3).body.prompt_cache_key).toBe(sent(0).body.prompt_cache_key);
  });

  test("tools aren't enforced; a schema for the answer neither; options go through, ours don't", async () => {
    const { answer, sent } = await asking();
    await answer({
      outputSchema: SCHEMA,
      options: {
        api: "responses",
        background: false,
        reasoning: { effort: "low" },
        text: { verbosity: "low" },
        tool_choice: "auto",
      },
    });
    expect(sent().body).toMatchObject({
      tools: [{ type: "function", name: "look", strict: false, parameters: { type: "object" } }],
      text: { verbosity: "low", format: { type: "json_schema", name: "output", schema: SCHEMA, strict: false } },
      reasoning: { effort: "low" },
      tool_choice: "auto",
    });
    expect(sent().body).not.toHaveProperty("api");
    expect(sent().body).not.toHaveProperty("background");
  });

  test("a model that doesn't reason isn't asked for reasoning; of one that nobody knows the refusal is learned once", async () => {
    const known = await asking({ model: "gpt-4o-mini" });
    await known.answer();
    expect(known.sent().body).not.toHaveProperty("include");
    const unknown = await asking({ model: "new-model" });
    await unknown.answer();
    await unknown.answer();
    expect(unknown.wire.ledger.map(({ refusal, body }) => [refusal !== null, body.include !== undefined])).toEqual([
      [true, true],
      [false, false],
      [false, false],
    ]);
  });

  test("an organisation that may not stream is answered whole, and asked so from then on", async () => {
    const { answer, wire, deltas } = await asking({ verified: false });
    await answer({}, WATCHED);
    await answer();
    expect(wire.ledger.map(({ refusal, body }) => [refusal !== null, body.stream])).toEqual([
      [true, true],
      [false, false],
      [false, false],
    ]);
    expect(deltas).toEqual([]);
  });

  test("a schema that OpenAI refuses is left to the system prompt; one with a list of anything is completed", async () => {
    const { answer, sent } = await asking();
    await answer({ outputSchema: { anyOf: [SCHEMA] } });
    expect(sent().body).not.toHaveProperty("text");
    await answer({
      outputSchema: { type: "object", properties: { rows: { type: "array" }, items: { type: "string" } } },
    });
    expect(sent().body.text?.format?.schema).toEqual({
      type: "object",
      properties: { rows: { type: "array", items: {} }, items: { type: "string" } },
    });
  });

  test("a tool whose arguments have alternatives is an object with the properties of all, and says the rest", async () => {
    const { answer, sent } = await asking();
    const inputSchema = {
      type: "object",
      oneOf: [
        { type: "object", properties: { kind: { const: "a" }, n: { type: "number" } }, required: ["kind", "n"] },
        { type: "object", properties: { kind: { const: "b" }, t: { $ref: "#/$defs/t" } }, required: ["kind"] },
      ],
      $defs: { t: { type: "array", prefixItems: [{ type: "string" }] } },
    };
    await answer({ tools: [{ name: "pick", description: "Picks.", inputSchema }] });
    expect(sent().body.tools?.[0]).toMatchObject({
      description: expect.stringMatching(/^Picks\.\n\nThe arguments must be valid .*"oneOf"/),
      parameters: {
        type: "object",
        properties: {
          kind: { anyOf: [{ const: "a" }, { const: "b" }] },
          n: { type: "number" },
          t: { $ref: "#/$defs/t" },
        },
        $defs: { t: { type: "array", items: {} } },
      },
    });
  });

  test("a small limit of tokens is raised to what is taken; no system text, no instructions", async () => {
    const { answer, sent } = await asking();
    await answer({ maxTokens: 1, system: " " });
    expect(sent().body.max_output_tokens).toBe(16);
    expect(sent().body).not.toHaveProperty("instructions");
  });

  test("results come first, then what was said; blanks are nowhere (c7)", async () => {
    const { answer, sent } = await asking();
    await answer({
      messages: [
        user("Go."),
        assistant(
          { type: "text", text: " \n" },
          { type: "text", text: "I look" },
          { type: "text", text: " it up." },
          use("a", "look", { q: "é", b: { d: 1, c: 2 } }),
        ),
        user("And hurry.", { type: "toolResult", toolUseId: "a", text: "  ", isError: true }, " "),
      ],
    });
    expect(sent().body.input).toEqual([
      { type: "message", role: "user", content: "Go." },
      { type: "message", role: "assistant", content: "I look it up." },
      { type: "function_call", call_id: "a", name: "look", arguments: '{"b":{"c":2,"d":1},"q":"é"}' },
      { type: "function_call_output", call_id: "a", output: "(no output)" },
      { type: "message", role: "user", content: "And hurry." },
    ]);
  });

  test("calls that never ran, and results of nothing, aren't sent", async () => {
    const { answer, sent } = await asking();
    await answer({
      messages: [
        user("Go."),
        assistant({ type: "text", text: "No." }, use("a")),
        user("Then?"),
        assistant(use("b")),
        user(result("b"), result("c")),
      ],
    });
    expect(sent().body.input.map(({ type }) => type)).toEqual([
      "message",
      "message",
      "message",
      "function_call",
      "function_call_output",
    ]);
  });

  test("c8: a conversation with calls goes on without tools, and without a choice of them", async () => {
    const { answer, sent } = await asking();
    await answer({
      tools: [],
      messages: [user("Hi."), assistant(use("a")), user(result("a"))],
      options: { tool_choice: "required", parallel_tool_calls: false },
    });
    expect(sent().body).not.toHaveProperty("tools");
    expect(sent().body).not.toHaveProperty("tool_choice");
  });
});

const answers = async (reply: Reply, model?: string) => {
  const { answer } = await asking({ script: () => reply, ...(model === undefined ? {} : { model }) });
  return await answer();
};

describe("the answer", () => {
  test("text, in pieces and with what it cost", async () => {
    const { answer, deltas, wire } = await asking({ script: () => "Hello, 世界 😀!" });
    const response = await answer({}, WATCHED);
    expect(response).toMatchObject({
      content: [{ type: "text", text: "Hello, 世界 😀!" }],
      stopReason: "end",
      servedBy: "gpt-5-mini",
    });
    expect(deltas.every(({ type }) => type === "text")).toBe(true);
    expect(deltas.map((delta) => ("text" in delta ? delta.text : "")).join("")).toBe("Hello, 世界 😀!");
    expect(deltas.length).toBeGreaterThan(1);
    expect(wire.ledger[0]?.billed).toMatchObject({ input: response.usage.input, output: response.usage.output });
  });

  test("calls, in order, with their arguments", async () => {
    const reply = {
      items: [
        { text: "I look." },
        { tool: "look", args: { q: 1 }, id: "call_a" },
        { tool: "look", json: "", id: "call_b" },
      ],
    };
    expect(await answers(reply, "gpt-4o")).toMatchObject({
      stopReason: "toolUse",
      content: [
        { type: "text", text: "I look." },
        { type: "toolUse", id: "call_a", name: "look", args: { q: 1 } },
        { type: "toolUse", id: "call_b", name: "look", args: {} },
      ],
    });
  });

  test.each([["{q: 1}"], ["[1]"], ['"x"'], ["null and void"], ["[".repeat(5_000)]])(
    "arguments that are no object are kept as text: %.10s",
    async (json) => {
      const { content } = await answers({ items: [{ tool: "look", json, id: "a" }] }, "gpt-4o");
      expect(content).toEqual([{ type: "toolUse", id: "a", name: "look", args: {}, malformed: json }]);
    },
  );

  test("a call that was cut at the limit says so", async () => {
    expect(
      await answers({ items: [{ tool: "look", json: '{"q":"x', id: "a" }], status: "incomplete" }, "gpt-4o"),
    ).toMatchObject({
      stopReason: "maxTokens",
      content: [{ malformed: '{"q":"x' }],
    });
  });

  test.each<[string, Reply, string]>([
    ["the limit", { items: [{ text: "It is" }], status: "incomplete" }, "maxTokens"],
    ["a filter", { items: [{ text: "It is" }], status: "incomplete", reason: "content_filter" }, "refusal"],
    ["a refusal", { items: [{ refusal: "I can't." }] }, "refusal"],
    ["a limit of calls", { items: [{ text: "So." }], status: "incomplete", reason: "max_tool_calls" }, "maxTokens"],
  ])("c9: ended by %s", async (_, reply, stop) => {
    const { stopReason, content } = await answers(reply);
    expect(stopReason).toBe(stop);
    expect(content.some(({ type }) => type === "text")).toBe(true);
  });

  test("of thinking alone within the limit has no text", async () => {
    const { content, stopReason } = await answers({ items: [{ reasoning: "Hmm." }], status: "incomplete" });
    expect(stopReason).toBe("maxTokens");
    expect(content.map(({ type }) => type)).toEqual(["opaque"]);
  });

  test("c7: a blank text beside a call isn't recorded", async () => {
    const { content } = await answers({ items: [{ text: " \n" }, { tool: "look", id: "a" }] }, "gpt-4o");
    expect(content.map(({ type }) => type)).toEqual(["toolUse"]);
  });

  test("reasoning is shown as it comes, its parts apart, and isn't text", async () => {
    const { answer, deltas } = await asking({
      script: () => ({ items: [{ reasoning: "secret", summary: ["First.", "Then."] }, { text: "Yes." }] }),
    });
    const { content } = await answer({}, WATCHED);
    const shown = (type: string) => deltas.map((d) => (d.type === type && "text" in d ? d.text : "")).join("");
    expect(shown("reasoning")).toBe("First.\n\nThen.");
    expect(shown("text")).toBe("Yes.");
    expect(content.filter(({ type }) => type === "text")).toEqual([{ type: "text", text: "Yes." }]);
  });

  test("one of 20 MB comes whole, in time that grows with its length", async () => {
    const text = "Lorem ipsum é 😀 ".repeat(1_150_000);
    const { answer } = await asking({ model: "gpt-4o", script: () => text });
    const { content } = await answer();
    expect(content[0]?.type === "text" && content[0].text === text).toBe(true);
  }, 60_000);

  test("50 at once don't meet", async () => {
    const { answer, wire } = await asking({
      model: "gpt-4o",
      script: ({ body }) => `Of ${JSON.stringify("input" in body ? body.input : "")}`,
    });
    const all = await Promise.all(Array.from({ length: 50 }, (_, n) => answer({ messages: [user(`Question ${n}.`)] })));
    for (const [n, { content }] of all.entries())
      expect(content).toEqual([{ type: "text", text: expect.stringContaining(`Question ${n}.`) }]);
    expect(wire.ledger.filter(({ billed, delivered }) => billed !== null && delivered)).toHaveLength(50);
  });
});

describe("usage", () => {
  const usage = (details: object, more: object = {}) => ({
    input_tokens: 20_000,
    input_tokens_details: details,
    output_tokens: 3_000,
    output_tokens_details: { reasoning_tokens: 1_920 },
    total_tokens: 23_000,
    ...more,
  });

  test.each<[string, string, object, object, number]>([
    // (20,000 − 15,360) × 0.25 + 15,360 × 0.025 + 3,000 × 2, a million at a time
    [
      "cached tokens are a part of the input",
      "gpt-5-mini",
      usage({ cached_tokens: 15_360 }),
      { input: 4_640, cacheRead: 15_360, cacheWrite: 0, output: 3_000, reasoning: 1_920 },
      0.007544,
    ],
    // 640 × 2 + 15,360 × 0.2 + 4,000 × 2.5 + 3,000 × 10
    [
      "and so are those that were written to the cache",
      "gpt-6-sol",
      usage({ cached_tokens: 15_360, cache_write_tokens: 4_000 }),
      { input: 640, cacheRead: 15_360, cacheWrite: 4_000, output: 3_000, reasoning: 1_920 },
      0.044352,
    ],
    // above 272,000 tokens of input: 300,000 × 4 + 3,000 × 15
    [
      "a long prompt costs more",
      "gpt-6-sol",
      usage({ cached_tokens: 0 }, { input_tokens: 300_000 }),
      { input: 300_000, cacheRead: 0, cacheWrite: 0, output: 3_000, reasoning: 1_920 },
      1.245,
    ],
  ])("%s, to the cent", async (_, model, wire, counted, usd) => {
    const { usage: spent, rawUsage } = await answers({ items: [{ text: "Yes." }], usage: wire }, model);
    expect(spent).toEqual(counted);
    expect(rawUsage).toEqual(wire);
    const { price } = factsOf(`openai/${model}`);
    if (price === null) throw new Error("no price");
    expect(costOf(spent, price)).toBe(usd);
  });

  test.each<[string, object]>([
    [
      "missing",
      {
        input_tokens: undefined,
        output_tokens: undefined,
        input_tokens_details: undefined,
        output_tokens_details: undefined,
      },
    ],
    ["no numbers", { input_tokens: "many", output_tokens: null, input_tokens_details: null, output_tokens_details: 7 }],
    [
      "out of range",
      { input_tokens: 1e300, output_tokens: -1, input_tokens_details: { cached_tokens: 9 }, output_tokens_details: {} },
    ],
  ])("counts that are %s count nothing, and the answer stands", async (_, odd) => {
    const { usage: spent, content } = await answers({ items: [{ text: "Yes." }], usage: odd }, "gpt-4o");
    expect(spent).toEqual({ input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 });
    expect(content).toHaveLength(1);
  });

  test("the second question of a long conversation reads from the cache", async () => {
    const { answer } = await asking({ model: "gpt-4o" });
    const system = "All of it. ".repeat(2_000);
    const first = await answer({ system });
    const second = await answer({
      system,
      messages: [user("Hi."), assistant({ type: "text", text: "Hello." }), user("Again.")],
    });
    expect(first.usage.cacheRead).toBe(0);
    expect(second.usage.cacheRead).toBeGreaterThan(4_000);
    expect(second.usage.input).toBeLessThan(500);
  });
});
