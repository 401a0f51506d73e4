// Claude on the wire: what is sent, and what comes of the answer. The server refuses whatever the real one would.
import { afterAll, describe, expect, it } from "@jest/globals";
import { createAnthropic } from "../../../shared/adapters/model/anthropic/index.ts";
import { factsOf } from "../../../shared/adapters/model/table.ts";
import { costOf } from "../../../shared/core/cost.ts";
import { asking, assistant, closeAll, LOOK, result, user } from "../../support/wire/anthropic/asking.ts";
import { createWireAnthropic } from "../../support/wire/anthropic/index.ts";

afterAll(closeAll);

const sent = (body: object | undefined): Readonly<Record<string, unknown>> =>
  (body ?? {}) as Readonly<Record<string, unknown>>;

describe("a question to Claude", () => {
  it("carries nothing that wasn't asked for", async () => {
    const { wire, answer } = await asking({ model: "claude-nova-9" });
    await answer({ system: "", tools: [] });
    expect(wire.ledger[0]?.body).toEqual({
      model: "claude-nova-9",
      max_tokens: 1_000,
      messages: [{ role: "user", content: [{ type: "text", text: "Hi." }] }],
      stream: true,
    });
  });

  it("carries the role's options as they are, and Anthropic's own tools after the role's", async () => {
    const search = { type: "web_search_20250305", name: "web_search", max_uses: 2 };
    const options = {
      thinking: { type: "adaptive", display: "omitted" },
      output_config: { effort: "low" },
      metadata: { user_id: "u" },
      tools: [search],
    } as const;
    const { wire, answer } = await asking();
    await answer({ options });
    const { thinking, output_config, metadata, tools } = sent(wire.ledger[0]?.body);
    expect({ thinking, output_config, metadata }).toEqual({ ...options, tools: undefined });
    expect(tools).toMatchObject([{ name: "look" }, search]);
  });

  it("asks for a summary of thinking only where the model thinks anyway and hides it", async () => {
    for (const [model, thinking] of [
      ["claude-sonnet-5-5", { type: "adaptive", display: "summarized" }],
      ["claude-opus-5", { type: "adaptive", display: "summarized" }],
      ["claude-opus-4-8", undefined],
      ["claude-haiku-4-5-20251001", undefined],
      ["claude-quasar-7", undefined],
    ] as const) {
      const { wire, answer } = await asking({ model });
      await answer({});
      expect(sent(wire.ledger[0]?.body).thinking).toEqual(thinking);
    }
    const forced = await asking({ model: "claude-opus-5" });
    await forced.answer({ options: { tool_choice: { type: "any" } } });
    expect(sent(forced.wire.ledger[0]?.body)).not.toHaveProperty("thinking");
  });

  it("has four marks for the cache at most, and none in what is digested", async () => {
    const { wire, answer } = await asking({
      script: (_, n) => (n < 3 ? { content: [{ tool: "look", id: `t${n}` }] } : "Done."),
    });
    const messages = [user("Hi.")];
    for (let n = 0; n < 4; n++) {
      const { content } = await answer({ messages });
      messages.push(assistant(content), user(result(`t${n}`)));
    }
    expect(JSON.stringify(messages)).not.toContain("cache_control");
    const marks = wire.ledger.map(({ raw }) => raw.match(/cache_control/g)?.length);
    expect(marks).toEqual([3, 4, 4, 4]);
    const [, second, third, fourth] = wire.ledger.map(({ billed }) => billed);
    for (const billed of [second, third, fourth]) expect(billed).toMatchObject({ input_tokens: 0 });
    expect(third?.cache_read_input_tokens).toBeGreaterThan(second?.cache_read_input_tokens ?? 0);
  });

  it("is read from the cache by the next one after fifty calls at once, though the provider looks back twenty blocks", async () => {
    const calls = Array.from({ length: 50 }, (_, i) => `t${i}`);
    const { wire, answer } = await asking({
      script: (_, n) => (n === 0 ? { content: calls.map((id) => ({ tool: "look", id, input: { q: id } })) } : "Done."),
    });
    const { content, stopReason } = await answer({});
    expect(stopReason).toBe("toolUse");
    expect(content).toHaveLength(50);
    await answer({ messages: [user("Hi."), assistant(content), user(...calls.map((id) => result(id)))] });
    expect(wire.ledger[1]?.billed?.cache_read_input_tokens).toBe(wire.ledger[0]?.billed?.cache_creation_input_tokens);
  });

  it("marks only its beginning where nothing will follow: a write costs more than plain input", async () => {
    const { wire, answer } = await asking();
    await answer({ tools: [] });
    expect(wire.ledger[0]?.raw.match(/cache_control/g)).toHaveLength(1);
    expect(sent(wire.ledger[0]?.body).system).toMatchObject([{ cache_control: { type: "ephemeral" } }]);
  });

  it("reads nothing of the environment, says nothing of the machine, and is sent once", async () => {
    const before = { ...process.env };
    Object.assign(process.env, {
      ANTHROPIC_API_KEY: "sk-env",
      ANTHROPIC_AUTH_TOKEN: "env",
      ANTHROPIC_BASE_URL: "http://127.0.0.1:1",
      ANTHROPIC_CUSTOM_HEADERS: "x-env: yes\nx-api-key: sk-custom",
      ANTHROPIC_LOG: "debug",
    });
    try {
      const { wire, failure } = await asking({ faults: () => ({ status: 500 }) });
      await failure({});
      expect(wire.ledger).toHaveLength(1);
      const { "x-api-key": key, ...headers } = wire.ledger[0]?.headers ?? {};
      expect(key).toBe("sk-test");
      expect(Object.keys(headers).filter((name) => /^x-|stainless|traceparent|authorization/.test(name))).toEqual([]);
      expect(headers["anthropic-version"]).toBe("2023-06-01");
    } finally {
      process.env = before;
    }
  });

  it("c13: has tools with schemas that Anthropic refuses say them in words instead", async () => {
    const kinds = { anyOf: [{ type: "object", properties: { a: { type: "string" } } }, { type: "object" }] };
    const recursive = {
      type: "object",
      properties: { next: { $ref: "#/$defs/n" } },
      $defs: { n: { type: "object", properties: { next: { $ref: "#/$defs/n" } } } },
    };
    const named = { type: "object", properties: { "first name": { type: "string" } } };
    const tools = [kinds, { ...kinds, type: "object" }, named, recursive].map((inputSchema, i) => ({
      name: `t${i}`,
      description: i === 0 ? "" : "Does.",
      inputSchema,
    }));
    const { wire, answer } = await asking();
    await answer({ tools });
    const wired = sent(wire.ledger[0]?.body).tools as readonly {
      readonly description: string;
      readonly input_schema: object;
    }[];
    expect(wired.map(({ input_schema }) => input_schema)).toEqual([
      { type: "object" },
      { type: "object" },
      { type: "object" },
      recursive,
    ]);
    expect(wired[2]?.description).toContain('"first name"');
  });

  it("is held to an output schema where model and schema allow it, and the words are there anyway", async () => {
    const outputSchema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { n: { type: "integer", minimum: 1 }, kind: { oneOf: [{ const: "a" }, { enum: ["b", null] }] } },
      required: ["n", "kind"],
    };
    const format = {
      type: "json_schema",
      schema: {
        type: "object",
        properties: { n: { type: "integer" }, kind: { anyOf: [{ const: "a" }, { enum: ["b", null] }] } },
        required: ["n", "kind"],
        additionalProperties: false,
      },
    };
    const held = await asking({ model: "claude-sonnet-4-6" });
    await held.answer({ outputSchema, options: { output_config: { effort: "low" } } });
    expect(sent(held.wire.ledger[0]?.body).output_config).toEqual({ effort: "low", format });
    for (const [model, schema] of [
      ["claude-nova-9", outputSchema],
      ["claude-sonnet-4-6", { type: "object", additionalProperties: { type: "string" } }],
      ["claude-sonnet-4-6", { type: "object", properties: { next: { $ref: "#" } } }],
      ["claude-sonnet-4-6", { type: "array", items: { type: "string" } }],
    ] as const) {
      const free = await asking({ model });
      await free.answer({ outputSchema: schema });
      expect(sent(free.wire.ledger[0]?.body)).not.toHaveProperty("output_config");
    }
  });
});

describe("an answer of Claude", () => {
  it("is put together from its stream, whoever watches", async () => {
    const text = "Grüße, 世界 😀! ".repeat(40);
    const { answer, deltas } = await asking({
      script: () => ({ content: [{ thinking: "Well 😀." }, { text }, { tool: "look", id: "t1", input: { q: "😀" } }] }),
    });
    const { content, stopReason, servedBy } = await answer({});
    expect(content.slice(2)).toEqual([
      { type: "text", text },
      { type: "toolUse", id: "t1", name: "look", args: { q: "😀" } },
    ]);
    expect([stopReason, servedBy]).toEqual(["toolUse", "claude-sonnet-5-5"]);
    const shown = (type: string): string => deltas.map((d) => (d.type === type && "text" in d ? d.text : "")).join("");
    expect([shown("text"), shown("reasoning")]).toEqual([text, "Well 😀."]);
  });

  it("c9: says why it stopped", async () => {
    const of = async (stop: string) => {
      const { answer } = await asking({ script: () => ({ content: [{ text: "So far." }], stop: stop as "end_turn" }) });
      return (await answer({})).stopReason;
    };
    expect(await of("end_turn")).toBe("end");
    expect(await of("stop_sequence")).toBe("end");
    expect(await of("max_tokens")).toBe("maxTokens");
    expect(await of("pause_turn")).toBe("pause");
    expect(await of("refusal")).toBe("refusal");
    expect(await of("model_context_window_exceeded")).toBe("contextExceeded");
    expect(await of("something_new")).toBe("end");
  });

  it("c9: that is a refusal without a word says the provider's", async () => {
    const { answer } = await asking({ script: () => ({ content: [], stop: "refusal", explanation: "Not that." }) });
    expect(await answer({})).toMatchObject({ stopReason: "refusal", content: [{ type: "text", text: "Not that." }] });
  });

  it("c7: has no empty text", async () => {
    const { answer } = await asking({ script: () => ({ content: [{ text: "" }, { tool: "look", id: "t1" }] }) });
    expect((await answer({})).content).toEqual([{ type: "toolUse", id: "t1", name: "look", args: {} }]);
  });

  it("keeps arguments that are no JSON object as they came", async () => {
    const bad = ['{"q": "cut', "[1]", "null", '"text"', '{"q": 1} {}'];
    const { answer } = await asking({
      script: () => ({ content: bad.map((json, i) => ({ tool: "look", json, id: `t${i}` })), stop: "max_tokens" }),
    });
    const { content, stopReason } = await answer({});
    expect(stopReason).toBe("maxTokens");
    expect(content).toEqual(
      bad.map((malformed, i) => ({ type: "toolUse", id: `t${i}`, name: "look", args: {}, malformed })),
    );
  });

  it("keeps blocks of kinds that we don't know, string by string", async () => {
    const block = { type: "hologram", payload: { z: "é\u0000", a: [1, null] } };
    const { answer } = await asking({ script: () => ({ content: [{ block }, { text: "There." }] }) });
    expect((await answer({})).content).toContainEqual({ type: "opaque", provider: "anthropic", data: block });
  });

  it("may name tools by whole shell commands, and repeat ids", async () => {
    const command = "bash -c 'ls -la | grep \"x\" && rm -rf ./tmp'";
    const { answer } = await asking({
      script: () => ({ content: [1, 2].map(() => ({ tool: command, id: "same", input: { a: 1 } })) }),
    });
    expect((await answer({})).content).toEqual(
      [1, 2].map(() => ({ type: "toolUse", id: "same", name: command, args: { a: 1 } })),
    );
  });

  it("may have twenty megabytes", async () => {
    const text = "0123456789abcde\n".repeat(1_310_720);
    const { answer } = await asking({ script: () => text });
    const { content } = await answer({});
    expect(content[0]?.type === "text" && content[0].text === text).toBe(true);
  });

  it("is whole when the connection breaks after its last word: it is paid", async () => {
    for (const faults of [() => ({ cutAfter: 8 }), () => ({ endAfter: 8 })]) {
      const { answer } = await asking({ script: () => "Hello.", faults }); // start, ping, block, text, end of block, change of message; the ninth ends it
      const { content } = await answer({});
      expect(content).toEqual([{ type: "text", text: "Hello." }]);
    }
  });

  it("comes from a server whose path goes on below its base URL", async () => {
    const wire = await createWireAnthropic({ script: () => "Hello." });
    const model = createAnthropic({ model: "claude-x", apiKey: "", baseURL: `${wire.baseURL}/` });
    const request = {
      model: "anthropic/claude-x",
      system: "",
      tools: [LOOK],
      messages: [user("Hi.")],
      maxTokens: 5,
      options: {},
    };
    expect(await model.ask(request, new AbortController().signal)).toMatchObject({ ok: true });
    await wire.close();
  });
});

describe("what an answer cost", () => {
  it.each([
    ["claude-sonnet-5-5", { input_tokens: 1_000, output_tokens: 2_000 }, 0.022],
    [
      "claude-sonnet-5-5",
      { input_tokens: 12, cache_read_input_tokens: 100_000, cache_creation_input_tokens: 4_000, output_tokens: 500 },
      0.025024,
    ],
    ["claude-opus-5-5", { input_tokens: 3, cache_read_input_tokens: 1_000_000, output_tokens: 10 }, 0.200212],
    [
      "claude-haiku-4-5-20251001",
      { input_tokens: 10, cache_creation_input_tokens: 1_000, output_tokens: 100 },
      0.00176,
    ],
    ["claude-haiku-5-5", { input_tokens: 50_000, cache_read_input_tokens: 50_001, output_tokens: 1_000 }, 0.03000005],
  ])("is right to the cent: %s", async (model, usage, usd) => {
    const none = { cache_read_input_tokens: 0, cache_creation_input_tokens: null };
    const { answer } = await asking({
      model,
      script: () => ({ content: [{ text: "Hello." }], usage: { ...none, ...usage } }),
    });
    const { usage: spent, rawUsage } = await answer({});
    const { price } = factsOf(`anthropic/${model}`);
    expect(price === null ? null : costOf(spent, price)).toBe(usd);
    expect(rawUsage).toMatchObject(usage);
  });

  it("counts reasoning as a part of the output, and nothing that isn't a number", async () => {
    const odd = {
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 80 },
      input_tokens: "many",
      cache_read_input_tokens: -3,
    };
    const { answer } = await asking({ script: () => ({ content: [{ text: "Hello." }], usage: odd }) });
    expect((await answer({})).usage).toMatchObject({ input: 0, cacheRead: 0, output: 50, reasoning: 50 });
  });
});
