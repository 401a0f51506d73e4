// What a role may say of an openai/ model, and what is told before any money is spent.
import { describe, expect, test } from "@jest/globals";
import { checkOpenAiOptions } from "../../../shared/adapters/model/openai/options.ts";
import type { Json } from "../../../shared/core/json.ts";

const OWN = { OPENAI_BASE_URL: "http://127.0.0.1:1/v1" };

describe("taken", () => {
  test.each<[string, Json, Record<string, string> | undefined]>([
    ["gpt-6.1-sol", {}, {}],
    ["gpt-5", { reasoning: { effort: "minimal", summary: "auto" }, text: { verbosity: "low" } }, {}],
    ["gpt-6.1-sol", { background: true, tools: [{ type: "web_search" }] }, {}],
    ["gpt-5.1", { temperature: 0.2 }, {}],
    ["gpt-6.1-sol", { reasoning: { effort: "none" }, temperature: 0.2 }, {}],
    ["gpt-4.1", { api: "chat", stop: ["END"], frequency_penalty: 1, logit_bias: { "50256": -100 } }, {}],
    ["gpt-5.1", { api: "chat", reasoning_effort: "none", stop: "END" }, {}],
    ["any/name", { mirostat: 2, stop: "END", temperature: 1.5 }, OWN],
    ["gpt-5-mini", { mirostat: 2 }, undefined], // nobody knows how it will be reached
  ])("%s: %j", (model, options, env) => {
    expect(checkOpenAiOptions(model, options, env)).toBeNull();
  });
});

describe("refused, with the reason", () => {
  test.each<[string, Json, Record<string, string>, string]>([
    ["gpt-5", { temperature: 1 }, {}, "doesn't take temperature"],
    ["gpt-5.1", { temperature: 1, reasoning: { effort: "low" } }, {}, "takes temperature only with an effort of none"],
    ["gpt-6.1-sol", { top_p: 1 }, {}, "takes top_p only with an effort of none"],
    ["gpt-5-mini", { api: "chat", presence_penalty: 1 }, {}, "doesn't take presence_penalty"],
    ["o4-mini", { api: "chat", logit_bias: {} }, {}, "doesn't take logit_bias"],
    ["gpt-5.2", { api: "chat", reasoning_effort: "low", frequency_penalty: 1 }, {}, "only with an effort of none"],
    ["o3", { api: "chat", stop: "END" }, {}, "takes no stop"],
    ["gpt-5", { api: "chat", stop: ["END"] }, {}, "takes no stop"],
    ["gpt-4.1", { reasoning: { effort: "low" } }, {}, "doesn't reason"],
    ["gpt-5", { reasoning: { effort: "xhigh" } }, {}, "effort is one of minimal, low, medium, high"],
    ["gpt-5-pro", { api: "chat" }, {}, "chat completions don't serve this model"],
    ["gpt-5", { max_output_tokens: 5 }, {}, "set the role's maxTokens instead"],
    ["gpt-5", { store: true }, {}, 'must not have "store"'],
    ["gpt-5", { api: "chat", background: true }, {}, "background needs the Responses API"],
    ["gpt-5", { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, "v"])) }, {}, "16 members"],
    ["any", { n: 2 }, OWN, "n: must be 1"],
    ["any", { stream: true }, OWN, "stream: is decided here"],
  ])("%s: %j: %s", (model, options, env, words) => {
    const problem = checkOpenAiOptions(model, options, env);
    expect(problem).toContain(words);
    expect(problem).toMatch(/^Options for openai\/.*\.$/);
  });
});
