import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { DEMO_MODEL, factsOf, KNOWN_MODELS } from "../../../shared/adapters/model/table.ts";
import { PAGE, withTable } from "./models-page.ts";

describe("the table of models", () => {
  it("knows a model under its dated and versioned names", () => {
    const known = factsOf("anthropic/claude-sonnet-4-5");
    expect(known.price).not.toBeNull();
    for (const name of ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5@20250929", "claude-sonnet-4-5-latest"])
      expect(factsOf(`anthropic/${name}`)).toBe(known);
    expect(factsOf("openai/gpt-5-mini-2025-08-07")).toBe(factsOf("openai/gpt-5-mini"));
  });

  it("never takes another family's numbers", () => {
    for (const name of [
      "anthropic/claude-sonnet-4-7",
      "anthropic/claude-opus-5-6",
      "anthropic/claude-sonnet-4-5-20250929-pro",
      "anthropic/claude-sonnet",
      "openai/gpt-5-pro",
      "openai/gpt-5.3",
      "openai/gpt-6",
      "openai/o3-mini",
      "openai/llama3",
      "openai/constructor",
      "bedrock/amazon.nova-premier-v1:0",
      "bedrock/arn:aws:bedrock:us-east-1:1:application-inference-profile/x",
    ])
      expect([name, factsOf(name).price]).toEqual([name, null]);
  });

  it("has a window for what it doesn't know, of those providers whose models all have one", () => {
    expect(factsOf("anthropic/claude-nova-9")).toMatchObject({ contextWindow: 200_000, maxOutput: null, images: true });
    expect(factsOf("openai/llama3")).toMatchObject({ contextWindow: 128_000, images: false });
    expect(factsOf("bedrock/some.model-v1:0").contextWindow).toBeNull();
    expect(factsOf("mock/script").contextWindow).toBeNull();
    expect(factsOf("no model").contextWindow).toBeNull();
    expect(factsOf(`openai/${DEMO_MODEL}`)).toMatchObject({ contextWindow: null, price: { simulated: true } });
  });

  it("prices Claude on Bedrock by where it runs", () => {
    const of = (id: string) => factsOf(`bedrock/${id}`).price;
    expect(of("global.anthropic.claude-opus-5-5")).toMatchObject({ input: 4, output: 20 });
    expect(of("eu.anthropic.claude-opus-5-5")).toMatchObject({
      input: 4.4,
      cacheRead: 0.22,
      cacheWrite: 5.5,
      output: 22,
    });
    expect(of("anthropic.claude-haiku-4-5-20251001-v1:0")).toMatchObject({ input: 1.1, output: 5.5 });
    expect(of("us.anthropic.claude-haiku-5-5")).toMatchObject({
      input: 0.11,
      long: { aboveTokens: 100_000, input: 0.55, output: 2.75 },
    });
    expect(of("us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0")).toBeNull();
    expect(of("us.amazon.nova-pro-v1:0")).toMatchObject({ input: 0.8 });
    expect(of("eu.amazon.nova-pro-v1:0")).toBeNull();
  });

  it("holds numbers that can be right: reading a cache costs less than input, output more, an answer fits the window", () => {
    for (const [name, { price, contextWindow, maxOutput }] of KNOWN_MODELS) {
      for (const rates of price === null ? [] : [price, ...(price.long === undefined ? [] : [price.long])]) {
        const { input, cacheRead, cacheWrite, output } = rates;
        const plausible =
          0 < cacheRead && cacheRead <= input && input <= cacheWrite && cacheWrite <= 1.25 * input && output >= input;
        expect([name, plausible]).toEqual([name, true]);
      }
      expect((maxOutput ?? 0) < (contextWindow ?? 1)).toBe(true);
    }
  });

  it("is what docs/reference/models.md shows (node test/adapters/model/models-page.ts writes it)", () => {
    const page = readFileSync(PAGE, "utf8");
    expect(page).toBe(withTable(page));
  });
});
