// Claude on the wire: what is sent, and what comes of the answer. The server refuses whatever the real one would.
import { afterAll, describe, expect, it } from "@jest/globals";
import { CASES, toolWith } from "../../authoring/input-schemas.ts";
import { asking, assistant, closeAll, result, user } from "../../support/wire/anthropic/asking.ts";

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

  it("c13: has tools with whatever zod can say of their arguments", async () => {
    const tools = Object.entries(CASES).map(([name, { input }]) => {
      const { description, inputSchema } = toolWith(input);
      return { name: name.replace(/[^a-zA-Z0-9_-]/g, "_"), description, inputSchema };
    });
    const { wire, answer } = await asking();
    await answer({ tools });
    expect(wire.ledger.map(({ refusal }) => refusal)).toEqual([null]);
    expect(wire.ledger[0]?.body.tools).toHaveLength(tools.length);
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
