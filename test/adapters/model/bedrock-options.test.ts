// A role's options for bedrock/: checked where no model is asked.
import { describe, expect, test } from "@jest/globals";
import { checkBedrockOptions } from "../../../shared/adapters/model/bedrock/options.ts";
import type { Json } from "../../../shared/core/json.ts";
import { CLAUDE, LLAMA, NOVA, OPAQUE } from "../../support/wire/bedrock/harness.ts";

const sampling = { inferenceConfig: { temperature: 0.2, topP: 0.9 } };
const more = (fields: Json): Json => ({ additionalModelRequestFields: fields });
const BUDGET = more({ thinking: { type: "enabled", budget_tokens: 2_000 } });
const ADAPTIVE = more({ thinking: { type: "adaptive", display: "summarized" } });
const EFFORT = (maxReasoningEffort: string): Json => more({ reasoningConfig: { type: "enabled", maxReasoningEffort } });

const OPUS_48 = "us.anthropic.claude-opus-4-8";
const SONNET_46 = "anthropic.claude-sonnet-4-6";
const SONNET_37 = "anthropic.claude-3-7-sonnet-20250219-v1:0";
const NOVA_2 = "us.amazon.nova-2-lite-v1:0";

describe("nothing is known against", () => {
  test.each<[string, Json]>([
    [CLAUDE, {}],
    [LLAMA, sampling],
    [NOVA, sampling],
    [SONNET_37, sampling],
    [CLAUDE, { inferenceConfig: { temperature: 0 } }],
    [CLAUDE, BUDGET],
    [SONNET_46, BUDGET],
    [SONNET_46, ADAPTIVE],
    [OPUS_48, ADAPTIVE],
    ["global.anthropic.claude-sonnet-5-5", more({ thinking: { type: "between_tools" } })],
    [OPUS_48, { outputConfig: { effort: "xhigh" } }],
    ["anthropic.claude-mythos-preview", BUDGET],
    [NOVA_2, EFFORT("high")],
    [NOVA_2, more({ reasoningConfig: { type: "disabled" }, inferenceConfig: { topK: 5 } })],
    ["openai.gpt-oss-120b-1:0", more({ reasoning_effort: "low" })],
    [OPAQUE, { ...sampling, ...(BUDGET as object) }],
    [OPAQUE, { foundationModel: CLAUDE, inferenceConfig: { topP: 1 } }],
  ])("%s: %j", (model, options) => {
    expect(checkBedrockOptions(model, options)).toBeNull();
  });
});

describe("refused, with the place and the reason", () => {
  test.each<[string, Json, string]>([
    [CLAUDE, null, "options: must be"],
    [CLAUDE, "fast", "options: must be"],
    [CLAUDE, { temperature: 1 }, 'must not have "temperature"'],
    [CLAUDE, { inferenceConfig: { temperature: 2 } }, "inferenceConfig.temperature: must be at most 1"],
    [CLAUDE, { inferenceConfig: { maxTokens: 5 } }, "set the role's maxTokens instead"],
    [CLAUDE, { inferenceConfig: { stopSequences: [""] } }, "inferenceConfig.stopSequences[0]"],
    [CLAUDE, more([1]), "additionalModelRequestFields: must be an object"],
    [CLAUDE, { performanceConfig: { latency: "fast" } }, "performanceConfig.latency"],
    [CLAUDE, { serviceTier: { type: "gold" } }, "serviceTier.type"],
    [CLAUDE, { guardrailConfig: { guardrailIdentifier: "x" } }, "guardrailConfig.guardrailVersion: is missing"],
    [CLAUDE, sampling, "takes temperature or topP, not both"],
    [OPUS_48, { inferenceConfig: { temperature: 0 } }, "takes no temperature, topP or top_k"],
    [OPUS_48, more({ top_k: 5 }), "takes no temperature, topP or top_k"],
    [OPUS_48, BUDGET, "takes no budget: say {type: adaptive}"],
    [CLAUDE, ADAPTIVE, "wants {type: enabled, budget_tokens: …}"],
    ["us.anthropic.claude-opus-5-5", more({ thinking: { type: "disabled" } }), 'takes "adaptive", not "disabled"'],
    [CLAUDE, { outputConfig: { effort: "low" } }, "this model knows no effort"],
    [SONNET_46, { outputConfig: { effort: "xhigh" } }, "this model takes low, medium, high, max"],
    ["anthropic.claude-3-haiku-20240307-v1:0", BUDGET, "doesn't think"],
    [
      CLAUDE,
      more({ thinking: { type: "enabled", budget_tokens: 10 } }),
      "additionalModelRequestFields.thinking.budget_tokens",
    ],
    [CLAUDE, { ...(BUDGET as object), inferenceConfig: { temperature: 0.5 } }, "takes no temperature and no top_k"],
    [NOVA, EFFORT("low"), "doesn't reason; Nova 2 does"],
    [NOVA_2, EFFORT("extreme"), "maxReasoningEffort"],
    [NOVA_2, { ...(EFFORT("high") as object), inferenceConfig: { temperature: 0.5 } }, "neither temperature nor topP"],
    [OPAQUE, { foundationModel: OPUS_48, inferenceConfig: { temperature: 0.5 } }, "takes no temperature"],
  ])("%s: %j: %s", (model, options, words) => {
    const problem = checkBedrockOptions(model, options);
    expect(problem).toContain(words);
    expect(problem).toMatch(new RegExp(`^Options for bedrock/${model.replace(/[.:/]/g, "\\$&")}: .*\\.$`));
  });
});

test("loads no SDK", async () => {
  const { execFileSync } = await import("node:child_process");
  const script = `
    import { registerHooks } from "node:module";
    registerHooks({ load: (url, context, next) => (/aws|smithy/.test(url) ? process.exit(3) : next(url, context)) });
    await import(${JSON.stringify(new URL("../../../shared/adapters/model/bedrock/options.ts", import.meta.url).href)});`;
  execFileSync(process.execPath, ["--input-type=module", "--eval", script]);
});
