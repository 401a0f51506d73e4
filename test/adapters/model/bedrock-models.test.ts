// bedrock/: what is known of a model by its id, and what is asked again, at once, without what the model turns out not to take.
import { describe, expect, test } from "@jest/globals";
import { baseId, regionOf, traitsOf } from "../../../shared/adapters/model/bedrock/traits.ts";
import { canonical } from "../../../shared/core/json.ts";
import {
  CLAUDE,
  LLAMA,
  LOOK,
  NEW_CLAUDE,
  NOVA,
  OPAQUE,
  QWEN,
  uses,
  wiring,
} from "../../support/wire/bedrock/harness.ts";

const wire = wiring();

describe("an output schema", () => {
  const outputSchema = {
    type: "object",
    properties: { n: { type: "number" } },
    required: ["n"],
    additionalProperties: false,
  };

  test("is sent where the model can be held to it", async () => {
    const { answered, sent } = await wire();
    await answered({ outputSchema });
    expect(sent().outputConfig).toEqual({
      textFormat: {
        type: "json_schema",
        structure: { jsonSchema: { name: "output", schema: canonical(outputSchema) } },
      },
    });
  });

  test.each([NOVA, LLAMA, QWEN, OPAQUE, "anthropic.claude-opus-4-1-20250805-v1:0"])("isn't to %s", async (model) => {
    const { answered, sent, server } = await wire(model);
    await answered({ outputSchema });
    expect(sent().outputConfig).toBeUndefined();
    expect(server.ledger).toHaveLength(1);
  });

  test.each([
    { ...outputSchema, additionalProperties: true },
    { type: "object", properties: { n: { type: "number", minimum: 1 } }, additionalProperties: false },
    { type: "object", properties: { t: { $ref: "#" } }, additionalProperties: false },
    { type: "array", items: { type: "string" } },
    {
      ...outputSchema,
      $defs: { tree: { type: "array", items: { $ref: "#/$defs/tree" } } },
      properties: { t: { $ref: "#/$defs/tree" } },
    },
    { ...outputSchema, patternProperties: {} },
  ])("outside of what Bedrock takes it is left to the words of the system prompt: %j", async (schema) => {
    const { answered, sent, server } = await wire();
    await answered({ outputSchema: schema });
    expect(sent().outputConfig).toBeUndefined();
    expect(server.ledger).toHaveLength(1);
  });
});

describe("thinking", () => {
  const SUMMARY = { thinking: { type: "adaptive", display: "summarized" } };

  test("a model that thinks unasked, and hides it, is asked for a summary", async () => {
    const { answered, sent } = await wire(NEW_CLAUDE);
    await answered({ options: { additionalModelRequestFields: { anthropic_beta: ["x"] } } });
    expect(sent().additionalModelRequestFields).toEqual({ anthropic_beta: ["x"], ...SUMMARY });
  });

  test("not if its role says how it thinks", async () => {
    const { answered, sent } = await wire(NEW_CLAUDE);
    const additionalModelRequestFields = { thinking: { type: "adaptive", display: "omitted" } };
    await answered({ options: { additionalModelRequestFields } });
    expect(sent().additionalModelRequestFields).toEqual(additionalModelRequestFields);
  });

  test.each([CLAUDE, "us.anthropic.claude-opus-4-8", NOVA, LLAMA, QWEN, OPAQUE])(
    "%s is sent nothing of it",
    async (model) => {
      const { answered, sent } = await wire(model);
      await answered();
      expect(sent().additionalModelRequestFields).toBeUndefined();
    },
  );

  test("where the summary is refused it is left out, and remembered", async () => {
    const { answered, server, sent } = await wire(NEW_CLAUDE);
    const message = "thinking.display: Extra inputs are not permitted";
    server.faults = (n) => (n === 0 ? { fault: "exception", status: 400, name: "ValidationException", message } : null);
    await answered();
    await answered();
    expect(server.ledger.map(({ status }) => status)).toEqual([400, 200, 200]);
    expect(sent().additionalModelRequestFields).toBeUndefined();
  });
});

describe("what a model turns out not to take", () => {
  test("tools in a stream: known families are asked for whole answers", async () => {
    const { answered, server } = await wire(LLAMA, {
      script: () => ({ content: [{ toolUse: { name: "look", input: { at: "x" } } }] }),
    });
    const response = await answered({ tools: [LOOK] });
    expect(response.content).toEqual([uses("tooluse_00000001", "look", { at: "x" })]);
    expect(server.ledger.map(({ stream }) => stream)).toEqual([false]);
    await answered();
    expect(server.ledger.map(({ stream }) => stream)).toEqual([false, true]);
  });

  test("others are asked again at once, and remembered", async () => {
    const { answered, server } = await wire("cohere.command-r-v1:0");
    await answered({ tools: [LOOK] });
    await answered({ tools: [LOOK] });
    expect(server.ledger.map(({ stream, billed }) => [stream, billed])).toEqual([
      [true, false],
      [false, true],
      [false, true],
    ]);
  });

  test("an output schema: asked again without, and remembered", async () => {
    const { answered, server, sent } = await wire("us.anthropic.claude-opus-4-8");
    const outputSchema = { type: "object", properties: {}, additionalProperties: false };
    await answered({ outputSchema });
    await answered({ outputSchema });
    expect(server.ledger.map(({ status }) => status)).toEqual([400, 200, 200]);
    expect(sent().outputConfig).toBeUndefined();
  });

  test("cache marks: asked again without, and remembered", async () => {
    const { answered, server } = await wire();
    const name = "ValidationException";
    server.faults = (n) =>
      n === 0
        ? { fault: "exception", status: 400, name, message: "extraneous key [cachePoint] is not permitted" }
        : null;
    await answered();
    await answered();
    expect(server.ledger.map(({ status }) => status)).toEqual([400, 200, 200]);
    expect(JSON.stringify(server.ledger.slice(1))).not.toContain("cachePoint");
  });

  test("one thing after the other: what is remembered adds up", async () => {
    const { answered, server } = await wire();
    const refusals = ["cachePoint is not permitted", null, "streaming is not supported", null];
    server.faults = (n) => {
      const message = refusals[n] ?? null;
      return message === null ? null : { fault: "exception", status: 400, name: "ValidationException", message };
    };
    for (let i = 0; i < 3; i++) await answered();
    expect(server.ledger.map(({ status, stream }) => [status, stream])).toEqual([
      [400, true],
      [200, true],
      [400, true],
      [200, false],
      [200, false],
    ]);
    expect(JSON.stringify(server.ledger.at(-1)?.body)).not.toContain("cachePoint");
  });

  test("anything else fails once", async () => {
    const { failed, server } = await wire();
    server.faults = () => ({
      fault: "exception",
      status: 400,
      name: "ValidationException",
      message: "maxTokens: too big",
    });
    expect(await failed()).toMatchObject({ error: { code: "model.bad_request" }, retryable: false });
    expect(server.ledger).toHaveLength(1);
  });

  test("a refusal that stays is not asked for ever", async () => {
    const { failed, server } = await wire();
    const message = "this stream of cachePoint and reasoningContent and outputConfig isn't supported in this stream";
    server.faults = () => ({ fault: "exception", status: 400, name: "ValidationException", message });
    expect(
      await failed({ outputSchema: { type: "object", properties: {}, additionalProperties: false } }),
    ).toMatchObject({ retryable: false });
    expect(server.ledger.length).toBeLessThanOrEqual(5);
  });
});

describe("what is known of a model by its id", () => {
  test.each([
    ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic.claude-sonnet-4-5-20250929-v1:0"],
    ["us-gov.anthropic.claude-3-haiku-20240307-v1:0", "anthropic.claude-3-haiku-20240307-v1:0"],
    ["arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0"],
    ["arn:aws:bedrock:us-east-1::foundation-model/meta.llama3-3-70b-instruct-v1:0", "meta.llama3-3-70b-instruct-v1:0"],
    [OPAQUE, OPAQUE],
    ["us.x", "us.x"],
  ])("%s is %s", (id, base) => {
    expect(baseId(id)).toBe(base);
  });

  test.each([
    ["anthropic.claude-v2:1", 200],
    ["anthropic.claude-instant-v1", 200],
    ["anthropic.claude-3-haiku-20240307-v1:0", 300],
    ["anthropic.claude-3-7-sonnet-20250219-v1:0", 307],
    ["anthropic.claude-opus-4-20250514-v1:0", 400],
    ["anthropic.claude-opus-4-1-20250805-v1:0", 401],
    ["anthropic.claude-opus-4-6-v1", 406],
    ["global.anthropic.claude-sonnet-5", 500],
    ["anthropic.claude-fable-5-1", 501],
    ["anthropic.claude-mythos-preview", 0],
  ])("%s is of version %d", (id, version) => {
    expect(traitsOf(id).version).toBe(version);
  });

  test("a name that isn't known is taken for a new Claude", () => {
    expect(traitsOf("anthropic.claude-mythos-preview")).toMatchObject({
      caches: true,
      images: true,
      bindsReasoning: true,
    });
  });

  test("an ARN names its region", () => {
    expect(regionOf(OPAQUE)).toBe("us-east-1");
    expect(regionOf("arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/x.y")).toBe("us-gov-west-1");
    expect(regionOf(CLAUDE)).toBeNull();
    expect(regionOf("arn:aws:bedrock:::x")).toBeNull();
  });
});
