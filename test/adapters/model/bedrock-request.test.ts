// bedrock/ over real HTTP: what goes out for each family of models, and what is asked again without.
import { describe, expect, test } from "@jest/globals";
import * as z from "zod";
import { createBedrock } from "../../../shared/adapters/model/bedrock/index.ts";
import { bareSchema } from "../../../shared/adapters/model/bedrock/tools.ts";
import { inputSchemaOf } from "../../../shared/authoring/input-schema.ts";
import { canonical } from "../../../shared/core/json.ts";
import type { Message } from "../../../shared/core/messages.ts";
import {
  assistant,
  CLAUDE,
  LLAMA,
  LOOK,
  MODELS,
  NEVER,
  NOVA,
  OPAQUE,
  QWEN,
  REQUEST,
  result,
  user,
  uses,
  wiring,
} from "../../support/wire/bedrock/harness.ts";
import { blocksOf, type ConverseBody } from "../../support/wire/bedrock/shape.ts";

const wire = wiring();

const MARK = { cachePoint: { type: "default" } };
const toolsOf = ({ toolConfig }: ConverseBody) =>
  (toolConfig?.tools ?? []).flatMap((tool) => ("toolSpec" in tool ? [tool.toolSpec] : []));

describe("the request", () => {
  test("a plain one, to a model without marks", async () => {
    const { answered, sent, last } = await wire(QWEN);
    await answered();
    expect(sent()).toEqual({
      messages: [{ role: "user", content: [{ text: "Hi." }] }],
      system: [{ text: "You are brief." }],
      inferenceConfig: { maxTokens: 64 },
    });
    expect(last()).toMatchObject({ modelId: QWEN, stream: true, billed: true, answered: true });
    expect(last().headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE\/\d{8}\/us-east-1\/bedrock\//,
    );
  });

  test.each([
    "anthropic.claude-3-5-haiku-20241022-v1:0",
    "us.anthropic.claude-opus-4-6-v1",
    "eu.amazon.nova-lite-v1:0",
    "apac.anthropic.claude-sonnet-4-20250514-v1:0",
    "global.anthropic.claude-opus-5",
    "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-6-v1",
    "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-micro-v1:0",
    "arn:aws:bedrock:us-east-1:123456789012:provisioned-model/abc123",
    OPAQUE,
  ])("%s goes out as it is given", async (model) => {
    const { answered, last } = await wire(model);
    await answered({ tools: [LOOK], messages: [user("Hi."), assistant(uses("c1")), user(result("c1", "ok"))] });
    expect(last().modelId).toBe(model);
  });

  test("no system text, none sent; a blank one neither", async () => {
    const { answered, sent } = await wire();
    await answered({ system: "" });
    expect(sent().system).toBeUndefined();
    await answered({ system: " \n" });
    expect(sent().system).toBeUndefined();
  });

  test("an API key of Bedrock's goes out as a bearer token", async () => {
    const { server, last } = await wire();
    process.env.AWS_BEARER_TOKEN_BEDROCK = "bedrock-api-key-example";
    try {
      const model = createBedrock({ model: CLAUDE, region: "eu-central-1", endpoint: server.url });
      expect(await model.ask(REQUEST, NEVER)).toMatchObject({ ok: true });
      expect(last().headers.authorization).toBe("Bearer bedrock-api-key-example");
    } finally {
      delete process.env.AWS_BEARER_TOKEN_BEDROCK;
    }
  });

  test("the options of a role, each in its place", async () => {
    const { answered, sent } = await wire("anthropic.claude-3-7-sonnet-20250219-v1:0");
    const options = {
      inferenceConfig: { topP: 0.5, stopSequences: ["END"] },
      additionalModelRequestFields: { top_k: 5, anthropic_beta: ["x-2026"] },
      performanceConfig: { latency: "optimized" },
      guardrailConfig: { guardrailIdentifier: "gr-1", guardrailVersion: "1", streamProcessingMode: "async" },
      serviceTier: { type: "flex" },
      requestMetadata: { team: "blue" },
      outputConfig: { effort: "low" },
    } as const;
    await answered({ options });
    const { messages: _, system: __, inferenceConfig, ...rest } = sent();
    const { inferenceConfig: given, ...others } = options;
    expect(inferenceConfig).toEqual({ maxTokens: 64, ...given });
    expect(rest).toEqual(others);
  });

  test("with high effort Nova sets its own limit of tokens", async () => {
    const { answered, sent } = await wire("us.amazon.nova-2-lite-v1:0");
    const reasoningConfig = { type: "enabled", maxReasoningEffort: "high" };
    await answered({ options: { additionalModelRequestFields: { reasoningConfig } } });
    expect(sent().inferenceConfig).toEqual({});
    await answered({
      options: { additionalModelRequestFields: { reasoningConfig: { ...reasoningConfig, maxReasoningEffort: "low" } } },
    });
    expect(sent().inferenceConfig).toEqual({ maxTokens: 64 });
  });

  test("options that can't be right are refused before anything is sent", async () => {
    const { failed, server } = await wire();
    const { error, retryable } = await failed({ options: { temperature: 1 } });
    expect(error.code).toBe("model.bad_request");
    expect(error.message).toContain('must not have "temperature"');
    expect(retryable).toBe(false);
    expect(server.ledger).toHaveLength(0);
  });
});

describe("tools", () => {
  test("name, description, schema; a blank description is left out", async () => {
    const { answered, sent } = await wire();
    await answered({ tools: [LOOK, { ...LOOK, name: "see", description: " " }] });
    expect(toolsOf(sent())).toEqual([
      { name: "look", description: "Looks.", inputSchema: { json: LOOK.inputSchema } },
      { name: "see", inputSchema: { json: LOOK.inputSchema } },
    ]);
  });

  test.each(MODELS)("c8: a history with tool blocks brings a tool configuration along (%s)", async (model) => {
    const { answered, sent } = await wire(model);
    const messages = [
      user("Hi."),
      assistant(uses("c1"), uses("c2", "pay", { cents: 1 })),
      user(result("c1", "ok"), result("c2", "no", true), "Summarise."),
    ];
    await answered({ messages });
    expect(toolsOf(sent()).map(({ name }) => name)).toEqual(["look", "pay"]);
  });

  test("no tools, no tool blocks: no tool configuration", async () => {
    const { answered, sent } = await wire();
    await answered({ messages: [user("Hi."), assistant({ type: "text", text: "Ho." }), user("Hm.")] });
    expect(sent().toolConfig).toBeUndefined();
  });

  test.each(MODELS)("c13: whatever zod can say is taken (%s)", async (model) => {
    const tree: z.ZodType = z.lazy(() => z.object({ leaf: z.string().optional(), below: z.array(tree).optional() }));
    const input = z.object({
      limit: z.number().int().min(1).default(10),
      note: z.string().max(5).optional(),
      when: z.iso.date().transform((text) => new Date(text)),
      n: z.string().pipe(z.coerce.number()),
      shape: z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("a"), a: z.string() }),
        z.object({ kind: z.literal("b"), b: z.number() }),
      ]),
      tree,
      "a name with spaces": z.string().optional(),
    });
    const { answered, sent } = await wire(model);
    const bodies = [];
    for (let i = 0; i < 2; i++) {
      const schema = inputSchemaOf(input);
      if (!schema.ok) throw new Error(schema.problems.join());
      await answered({ tools: [{ name: "t", description: "T.", inputSchema: schema.schema }] });
      bodies.push(canonical(toolsOf(sent()) as never));
    }
    expect(bodies[0]).toBe(bodies[1]);
    expect(bodies[0]).toContain("below");
  });

  test("Nova's schemas: references are written out, an endless one ends", () => {
    const schema = {
      type: "object",
      $defs: {
        tree: { type: "object", properties: { below: { type: "array", items: { $ref: "#/$defs/tree" } } } },
        id: { type: "string" },
      },
      properties: { tree: { $ref: "#/$defs/tree", description: "A tree." }, id: { $ref: "#/$defs/id" } },
      required: ["id"],
      additionalProperties: false,
    };
    expect(bareSchema(schema)).toEqual({
      type: "object",
      properties: {
        tree: { type: "object", properties: { below: { type: "array", items: {} } }, description: "A tree." },
        id: { type: "string" },
      },
      required: ["id"],
    });
  });

  test("a schema that Claude refuses is said in the description", async () => {
    const { answered, sent } = await wire();
    const inputSchema = { type: "object", anyOf: [{ required: ["a"] }, { required: ["b"] }] };
    await answered({ tools: [{ name: "t", description: "T.", inputSchema }] });
    expect(toolsOf(sent())).toEqual([
      {
        name: "t",
        description: `T.\n\nThe arguments must be valid under this JSON Schema: ${canonical(inputSchema)}`,
        inputSchema: { json: { type: "object" } },
      },
    ]);
  });
});

describe("cache marks", () => {
  const turns = [
    user("One."),
    assistant(uses("c1")),
    user(result("c1", "ok")),
    assistant({ type: "text", text: "Two." }),
    user("Three."),
  ];
  const places = ({ toolConfig, system = [], messages }: ConverseBody) => ({
    tools: (toolConfig?.tools ?? []).flatMap((tool, i) => ("cachePoint" in tool ? [i] : [])),
    system: system.flatMap((block, i) => ("cachePoint" in block ? [i] : [])),
    turns: messages.flatMap(({ content }, i) => (blocksOf(content, "cachePoint").length > 0 ? [i] : [])),
  });

  test("Claude: after tools and system, at the last two turns of the user", async () => {
    const { answered, sent } = await wire();
    await answered({ tools: [LOOK], messages: turns });
    expect(places(sent())).toEqual({ tools: [1], system: [1], turns: [2, 4] });
    expect(sent().messages[4]?.content).toEqual([{ text: "Three." }, MARK]);
  });

  test("Nova: not at tools, not where results of tools are", async () => {
    const { answered, sent } = await wire(NOVA);
    await answered({ tools: [LOOK], messages: turns });
    expect(places(sent())).toEqual({ tools: [], system: [1], turns: [0, 4] });
  });

  test.each([LLAMA, QWEN, OPAQUE, "anthropic.claude-3-opus-20240229-v1:0", "anthropic.claude-v2:1"])(
    "%s: none",
    async (model) => {
      const { answered, sent } = await wire(model);
      await answered({ messages: [user("Hi.")] });
      expect(places(sent())).toEqual({ tools: [], system: [], turns: [] });
    },
  );

  test("an ARN whose model the role names gets that model's, and nothing of it is sent", async () => {
    const { answered, sent } = await wire(OPAQUE, { profiles: { [OPAQUE]: CLAUDE } });
    await answered({ options: { foundationModel: CLAUDE } });
    expect(places(sent())).toEqual({ tools: [], system: [1], turns: [] });
    expect(JSON.stringify(sent())).not.toContain("claude");
  });

  test("each call reads what the one before it wrote", async () => {
    const { answered } = await wire();
    const system = "You are brief. ".repeat(100);
    const ask = (messages: Message[]) => answered({ system, tools: [LOOK], messages });
    const first = await ask(turns.slice(0, 1));
    const second = await ask(turns.slice(0, 1));
    expect(first.usage).toMatchObject({ cacheRead: 0, input: 0 });
    expect(second.usage).toMatchObject({ cacheRead: first.usage.cacheWrite, cacheWrite: 0 });
    const longer = await ask(turns.slice(0, 3));
    expect(longer.usage.cacheRead).toBe(first.usage.cacheWrite);
    expect(longer.usage.cacheWrite).toBeGreaterThan(0);
  });

  test("a first question without tools, which may stay the only one, isn't written to the cache", async () => {
    const { answered, sent } = await wire();
    await answered();
    expect(places(sent())).toEqual({ tools: [], system: [1], turns: [] });
  });
});
