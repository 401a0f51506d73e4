// bedrock/ over real HTTP: what is made of every answer, whole and streamed; tokens and what they cost; answers of unusual size.
import { describe, expect, test } from "@jest/globals";
import { costOf, type Rates } from "../../../shared/core/cost.ts";
import type { StopReason, Usage } from "../../../shared/core/messages.ts";
import { normalise, toolUses } from "../../../shared/core/task/history.ts";
import type { Delta } from "../../../shared/ports/model.ts";
import type { Answer, TokenUsage } from "../../support/wire/bedrock/answer.ts";
import { CLAUDE, LLAMA, LOOK, NOVA, QWEN, type Wired, wiring } from "../../support/wire/bedrock/harness.ts";

const wire = wiring();

/** The same answer as a stream, and whole (which a model that streams no tools is asked for). */
const ways = [
  ["streamed", CLAUDE],
  ["whole", LLAMA],
] as const;
const answer = async (model: string, script: Answer, more: Parameters<Wired["answered"]>[1] = {}) => {
  const { answered } = await wire(model, { script: () => script });
  return answered({ tools: [LOOK] }, more);
};

describe.each(ways)("an answer %s", (way, model) => {
  test("text and calls, in their order", async () => {
    const response = await answer(model, {
      content: [
        { text: "Two calls: \ud83d\ude00\u00e4." },
        { toolUse: { name: "look", input: { at: "x", deep: { list: [1, "\u5831"] } } } },
        { toolUse: { name: "look" } },
      ],
    });
    expect(response.content).toEqual([
      { type: "text", text: "Two calls: \ud83d\ude00\u00e4." },
      { type: "toolUse", id: "tooluse_00000001", name: "look", args: { at: "x", deep: { list: [1, "\u5831"] } } },
      { type: "toolUse", id: "tooluse_00000002", name: "look", args: {} },
    ]);
    expect(response.stopReason).toBe("toolUse");
  });

  test.each<[string, StopReason]>([
    ["end_turn", "end"],
    ["stop_sequence", "end"],
    ["max_tokens", "maxTokens"],
    ["guardrail_intervened", "refusal"],
    ["content_filtered", "refusal"],
    ["refusal", "refusal"],
    ["model_context_window_exceeded", "contextExceeded"],
    ["pause_turn", "pause"],
    ["a_reason_of_next_year", "end"],
  ])("c9: %s is %s", async (stopReason, ours) => {
    expect((await answer(model, { content: [{ text: "Hm." }], stopReason })).stopReason).toBe(ours);
  });

  test.each(["end_turn", "tool_use", "a_reason_of_next_year"])(
    "%s beside calls: the calls decide",
    async (stopReason) => {
      const response = await answer(model, { content: [{ toolUse: { name: "look" } }], stopReason });
      expect(response.stopReason).toBe("toolUse");
    },
  );

  test("cut at its tokens within a call", async () => {
    const script: Answer = { content: [{ toolUse: { name: "look", raw: '{"at":"x' } }], stopReason: "max_tokens" };
    const response = await answer(model, script);
    expect(response.stopReason).toBe("maxTokens");
    expect(toolUses(response.content)).toHaveLength(1);
    expect(toolUses(response.content)[0]?.malformed).toBeDefined();
  });

  test("c7: an empty text beside a call isn't kept", async () => {
    const { content } = await answer(model, {
      content: [{ text: "" }, { toolUse: { name: "look" } }, { text: " \n" }],
    });
    expect(content.map(({ type }) => type)).toEqual(["toolUse"]);
  });

  test("nothing at all is an answer without content", async () => {
    expect(await answer(model, { content: [] })).toMatchObject({ content: [], stopReason: "end" });
  });

  test("c4: two calls with one id are two on record", async () => {
    const twice = { toolUse: { name: "look", toolUseId: "same" } };
    const { content } = normalise(await answer(model, { content: [twice, twice] }), new Set());
    expect(toolUses(content).map(({ id }) => id)).toEqual(["same", "same_2"]);
  });

  test("50 calls", async () => {
    const content = Array.from({ length: 50 }, (_, n) => ({ toolUse: { name: "look", input: { n } } }));
    const response = await answer(model, { content });
    expect(toolUses(response.content).map(({ args }) => args)).toEqual(content.map(({ toolUse }) => toolUse.input));
    expect(new Set(toolUses(response.content).map(({ id }) => id)).size).toBe(50);
  });

  test("20 MB", async () => {
    const text = "All work and no play. \ud83d\ude00".repeat(800_000);
    expect(Buffer.byteLength(text)).toBeGreaterThan(20_000_000);
    const response = await answer(model, { content: [{ text }] });
    expect(response.content).toHaveLength(1);
    expect(response.content[0]?.type === "text" && response.content[0].text === text).toBe(true);
  }, 60_000);

  test("whoever watches hears it", async () => {
    const heard: Delta[] = [];
    const context = { media: () => Promise.resolve(null), onDelta: (delta: Delta) => void heard.push(delta) };
    const content = [
      { reasoning: "Thinking, thinking, and thinking." },
      { text: "Saying this, and that, and more." },
      { toolUse: { name: "look" } },
    ];
    await answer(model, { content }, { context });
    const said = (type: Delta["type"]) =>
      heard.flatMap((delta) => (delta.type === type && "text" in delta ? [delta.text] : []));
    expect(said("reasoning").join("")).toBe("Thinking, thinking, and thinking.");
    expect(said("text").join("")).toBe("Saying this, and that, and more.");
    expect(said("text").length > 1).toBe(way === "streamed");
  });

  test("a prompt router says who answered", async () => {
    const invokedModelId = "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0";
    const response = await answer(model, { content: [{ text: "Yes." }], trace: { promptRouter: { invokedModelId } } });
    expect(response.servedBy).toBe(invokedModelId);
    expect((await answer(model, { content: [{ text: "Yes." }] })).servedBy).toBeUndefined();
  });

  test.each(["malformed_model_output", "malformed_tool_use"])("%s is another try's", async (stopReason) => {
    const { failed, server } = await wire(model, { script: () => ({ content: [{ text: "<call>" }], stopReason }) });
    const failure = await failed({ tools: [LOOK] });
    const { inputTokens, outputTokens, cacheWriteInputTokens = 0, totalTokens } = server.ledger[0]?.usage ?? {};
    expect(totalTokens).toBeGreaterThan(1);
    const usage = { input: inputTokens, output: outputTokens, cacheWrite: cacheWriteInputTokens }; // it was written, and is paid
    expect(failure).toMatchObject({ error: { code: "model.bad_answer" }, retryable: true, usage });
    expect(failure.error.message).toContain(stopReason);
  });
});

describe("arguments of calls", () => {
  test.each([
    ["", {}],
    ["{}", {}],
    ['{"b":1,"a":{"c":[null]}}', { a: { c: [null] }, b: 1 }],
  ])("%j are %j", async (raw, args) => {
    const { content } = await answer(CLAUDE, { content: [{ toolUse: { name: "look", raw } }] });
    expect(content[0]).toMatchObject({ args });
    expect(content[0]).not.toHaveProperty("malformed");
  });

  test.each(['{"at":', "look at x", "[1]", "null", "7", `${'{"a":'.repeat(2_000)}1${"}".repeat(2_000)}`])(
    "%.20s… are malformed, and kept as they came",
    async (raw) => {
      const { content } = await answer(CLAUDE, { content: [{ toolUse: { name: "look", raw } }] });
      expect(content[0]).toMatchObject({ type: "toolUse", args: {}, malformed: raw });
    },
  );
});

describe("tokens", () => {
  const SONNET: Rates = { input: 3, cacheRead: 0.3, cacheWrite: 3.75, output: 15, simulated: false };
  const NOVA_PRO: Rates = { input: 0.8, cacheRead: 0.2, cacheWrite: 0, output: 3.2, simulated: false };
  const cases: [string, string, TokenUsage, Usage, Rates, number][] = [
    [
      "Claude, a cold cache",
      CLAUDE,
      { inputTokens: 12, outputTokens: 250, totalTokens: 4_358, cacheReadInputTokens: 0, cacheWriteInputTokens: 4_096 },
      { input: 12, cacheRead: 0, cacheWrite: 4_096, output: 250, reasoning: 0 },
      SONNET,
      0.019146,
    ],
    [
      "Claude, a warm one: what it served isn't in inputTokens",
      CLAUDE,
      {
        inputTokens: 12,
        outputTokens: 250,
        totalTokens: 104_358,
        cacheReadInputTokens: 100_000,
        cacheWriteInputTokens: 4_096,
      },
      { input: 12, cacheRead: 100_000, cacheWrite: 4_096, output: 250, reasoning: 0 },
      SONNET,
      0.049146,
    ],
    [
      "Nova, no cache",
      NOVA,
      { inputTokens: 1_000_000, outputTokens: 100_000, totalTokens: 1_100_000 },
      { input: 1_000_000, cacheRead: 0, cacheWrite: 0, output: 100_000, reasoning: 0 },
      NOVA_PRO,
      1.12,
    ],
    [
      "Nova, a warm cache",
      NOVA,
      {
        inputTokens: 500,
        outputTokens: 10,
        totalTokens: 20_510,
        cacheReadInputTokens: 20_000,
        cacheWriteInputTokens: 0,
      },
      { input: 500, cacheRead: 20_000, cacheWrite: 0, output: 10, reasoning: 0 },
      NOVA_PRO,
      0.004432,
    ],
    [
      "OpenAI's on Bedrock, whose stream counts the cached ones twice",
      "openai.gpt-5.6-sol",
      {
        inputTokens: 4_995,
        outputTokens: 19,
        totalTokens: 10_007,
        cacheReadInputTokens: 0,
        cacheWriteInputTokens: 4_993,
      },
      { input: 2, cacheRead: 0, cacheWrite: 4_993, output: 19, reasoning: 0 },
      SONNET,
      0.01901475,
    ],
  ];

  test.each(cases)("%s", async (_, model, raw, ours, rates, usd) => {
    const { answered } = await wire(model, { script: () => ({ content: [{ text: "Yes." }], usage: raw }) });
    const { usage, rawUsage } = await answered();
    expect(usage).toEqual(ours);
    expect(rawUsage).toEqual(raw);
    expect(costOf(usage, rates)).toBe(usd);
  });

  test("whole answers of the same model don't count twice", async () => {
    const usage = {
      inputTokens: 6_000,
      outputTokens: 19,
      totalTokens: 11_012,
      cacheReadInputTokens: 0,
      cacheWriteInputTokens: 4_993,
    };
    const { answered, server } = await wire("openai.gpt-5.6-sol", {
      script: () => ({ content: [{ text: "Yes." }], usage }),
    });
    server.faults = (n) =>
      n === 0
        ? {
            fault: "exception",
            status: 400,
            name: "ValidationException",
            message: "This model doesn't support streaming.",
          }
        : null;
    expect((await answered()).usage).toMatchObject({ input: 6_000, cacheWrite: 4_993 });
  });

  test("odd numbers make no odd books", async () => {
    const usage = { inputTokens: -5, outputTokens: 3.7, totalTokens: 0 };
    const { answered } = await wire(QWEN, { script: () => ({ content: [{ text: "Yes." }], usage }) });
    expect((await answered()).usage).toEqual({ input: 0, cacheRead: 0, cacheWrite: 0, output: 3, reasoning: 0 });
  });
});

test("50 questions at once over one adapter, each with its own answer", async () => {
  const { answered, server } = await wire(CLAUDE, {
    latencyMs: 50,
    script: ({ body }) => `You said: ${JSON.stringify(body.messages[0]?.content[0])}`,
  });
  const numbers = Array.from({ length: 50 }, (_, n) => n);
  const answers = await Promise.all(
    numbers.map((n) => answered({ messages: [{ role: "user", content: [{ type: "text", text: `number ${n}` }] }] })),
  );
  expect(answers.map(({ content }) => content)).toEqual(
    numbers.map((n) => [{ type: "text", text: `You said: {"text":"number ${n}"}` }]),
  );
  expect(server.ledger.filter(({ billed, answered: done }) => billed && done)).toHaveLength(50);
});
