// From `provider/name` to a model, or to what is wrong with the name or the settings.
import { describe, expect, test } from "@jest/globals";
import { checkOptions, createModels } from "../../../shared/adapters/model/models.ts";
import { createScriptedModel } from "../../../shared/adapters/model/script.ts";
import { DEMO_MODEL } from "../../../shared/adapters/model/table.ts";
import { chatServer, completion } from "./chat-server.ts";

const problem = async (name: string, env = {}) => {
  const resolved = await createModels({ env }).resolve(name);
  if (resolved.ok) throw new Error("it was resolved");
  return resolved.error;
};

describe("names", () => {
  test.each([
    ["gpt-5-mini", "write provider/name"],
    ["/gpt-5-mini", "write provider/name"],
    ["openai/", "write provider/name"],
    ["", "write provider/name"],
    ["anthropic/", "write provider/name"],
    ["anthropc/claude-opus-5", 'Did you mean "anthropic"?'],
    ["mock/script", "not scripted"],
    ["opnai/gpt-5-mini", 'Did you mean "openai"?'],
    ["mistral/large", "Known: anthropic, bedrock, openai."],
    ["constructor", "write provider/name"],
    ["__proto__", "write provider/name"],
    ["toString", "write provider/name"],
  ])("%j is unknown: %s", async (name, words) => {
    const error = await problem(name, { OPENAI_API_KEY: "k" });
    expect(error.code).toBe("model.unknown");
    expect(error.message).toContain(words);
  });

  test("a name may hold slashes of its own, and the provider gets all of it", async () => {
    const server = await chatServer();
    try {
      server.reply = { body: completion() };
      const models = createModels({ env: { OPENAI_BASE_URL: server.baseURL } });
      const resolved = await models.resolve("openai/meta/llama-3");
      if (!resolved.ok) throw new Error(resolved.error.message);
      const request = { model: "x", system: "", tools: [], messages: [], maxTokens: 1, options: {} };
      const messages = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hi." }] }];
      await resolved.model.ask({ ...request, messages }, new AbortController().signal);
      expect(server.requests[0]?.body.model).toBe("meta/llama-3");
    } finally {
      await server.close();
    }
  });
});

describe("settings of openai/", () => {
  test.each([{}, { OPENAI_API_KEY: "" }, { OPENAI_API_KEY: "", OPENAI_BASE_URL: "" }, { OPENAI_API_KEY: undefined }])(
    "%j: no key, and what to do about it",
    async (env) => {
      const error = await problem("openai/gpt-5-mini", env);
      expect(error.code).toBe("model.auth");
      expect(error.message).toContain("OPENAI_API_KEY");
      expect(error.message).toContain("OPENAI_BASE_URL");
    },
  );

  test.each([{ OPENAI_API_KEY: "k" }, { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" }])("%j is enough", async (env) => {
    expect((await createModels({ env }).resolve("openai/gpt-5-mini")).ok).toBe(true);
  });

  test("one client a model: its connections are kept", async () => {
    const models = createModels({ env: { OPENAI_API_KEY: "k" } });
    const [a, b, c] = await Promise.all(["openai/a", "openai/a", "openai/b"].map((name) => models.resolve(name)));
    expect(a?.ok && b?.ok && a.model === b.model).toBe(true);
    expect(a?.ok && c?.ok && a.model === c.model).toBe(false);
  });
});

describe("scripted models", () => {
  test("are found by their whole name, before anything else", async () => {
    const model = createScriptedModel(() => "Hi.");
    const models = createModels({ env: {}, scripted: { "openai/gpt-5-mini": model } });
    expect(await models.resolve("openai/gpt-5-mini")).toEqual({ ok: true, model });
  });
});

describe("prices", () => {
  test("an unknown one is null; made-up ones are marked", () => {
    const models = createModels({ env: {} });
    expect(models.facts("openai/gpt-99").price).toBeNull();
    expect(models.facts("openai/constructor").price).toBeNull();
    expect(models.facts(`openai/${DEMO_MODEL}`).price?.simulated).toBe(true);
    expect(models.facts("mock/anything").price?.simulated).toBe(true);
  });
});

test("a thinking budget must be less than what the whole answer may have, wherever Claude is served", () => {
  const thinking = { type: "enabled", budget_tokens: 8_192 };
  for (const [name, options] of [
    ["anthropic/claude-sonnet-4-5", { thinking }],
    ["bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", { additionalModelRequestFields: { thinking } }],
  ] as const) {
    expect(checkOptions(name, options, 8_192)).toMatch(/8192 tokens, which must be less than the role's maxTokens/);
    expect(checkOptions(name, options, 8_193)).toBeNull();
  }
});
