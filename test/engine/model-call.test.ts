// One question to a model, and the one policy of retries. Over the scripted model, and over HTTP where the wire matters.
import { describe, expect, jest, test } from "@jest/globals";
import { createModels } from "../../shared/adapters/model/models.ts";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import {
  MODEL_BACKOFF_MAX_MS,
  MODEL_BACKOFF_MS,
  MODEL_CALL_MAX_MS,
  MODEL_RETRY_AFTER_MAX_MS,
  MODEL_TRIES,
  PAYLOAD_MAX_BYTES,
} from "../../shared/core/limits.ts";
import type { ModelRequest, ModelResponse } from "../../shared/core/messages.ts";
import type { EngineDeps } from "../../shared/engine/deps.ts";
import { type Asked, askModel, backoffMs } from "../../shared/engine/model-call.ts";
import type { Model, ModelFailure } from "../../shared/ports/model.ts";
import { chatServer } from "../adapters/model/chat-server.ts";

const NO_CONTEXT = { media: async () => null };
const request: ModelRequest = {
  model: "mock/script",
  system: "",
  tools: [],
  messages: [{ role: "user", content: [{ type: "text", text: "Hi." }] }],
  maxTokens: 9,
  options: {},
};
const never = new AbortController().signal;
const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 };

/** askModel needs nothing of the engine but its models. */
const ask = (model: Model | null, interrupt = never, of: Partial<ModelRequest> = {}): Promise<Asked> => {
  const models = createModels({ env: {}, scripted: model === null ? {} : { "mock/script": model } });
  return askModel({ models } as EngineDeps, { ...request, ...of }, interrupt, NO_CONTEXT);
};
const answering = (response: object): Promise<Asked> =>
  ask(createScriptedModel(() => ({ response: response as ModelResponse })));

describe("askModel", () => {
  test("gives the answer as the log will hold it", async () => {
    const response = {
      content: [{ type: "text", text: "cut \uD83D\u0000" }],
      stopReason: "end",
      usage,
      rawUsage: undefined,
    };
    expect(await answering(response)).toEqual({
      type: "answered",
      response: { content: [{ type: "text", text: "cut \uD83D\u0000" }], stopReason: "end", usage },
    });
  });

  test("a failed try is data, and the engine's to repeat", async () => {
    expect(await ask(createScriptedModel(() => ({ status: 529, retryAfterMs: 7 })))).toEqual({
      type: "failed",
      failure: { error: { code: "model.unavailable", message: "status 529" }, retryable: true, retryAfterMs: 7 },
    });
  });

  test("an unknown model isn't asked again", async () => {
    expect(await ask(null)).toMatchObject({
      type: "failed",
      failure: { error: { code: "model.unknown" }, retryable: false },
    });
    expect(await ask(null, never, { model: "openai/x" })).toMatchObject({
      failure: { error: { code: "model.auth" }, retryable: false },
    });
  });

  test.each<[string, object, string]>([
    ["of another shape", { content: "Hello.", stopReason: "end", usage }, "content"],
    ["with an unknown part", { content: [{ type: "image" }], stopReason: "end", usage }, "content.0"],
    ["without usage", { content: [], stopReason: "end" }, "usage"],
    ["with a part of a token", { content: [], stopReason: "end", usage: { ...usage, output: 0.5 } }, "usage.output"],
    ["that JSON can't hold", { content: [], stopReason: "end", usage, rawUsage: { n: 1n } }, "$.rawUsage.n"],
  ])("an answer %s is no answer, and the place is named", async (_, response, place) => {
    expect(await answering(response)).toMatchObject({
      type: "failed",
      failure: { error: { code: "model.bad_answer", message: expect.stringContaining(place) }, retryable: false },
    });
  });

  test("c12: an answer over the limit fails once, with size and limit named", async () => {
    const content = [{ type: "text", text: "x".repeat(20_000_000) }];
    const asked = await answering({ content, stopReason: "end", usage });
    expect(asked).toMatchObject({ failure: { error: { code: "payload.too_large" }, retryable: false } });
    expect(asked.type === "failed" && asked.failure.error.message).toMatch(`limit of ${PAYLOAD_MAX_BYTES} bytes`);
  });

  test("an interrupt while it waits: nobody's answer", async () => {
    const stop = new AbortController();
    const model = createScriptedModel(async (_, __, signal) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return "too late";
    });
    const asked = ask(model, stop.signal);
    setImmediate(() => stop.abort());
    expect(await asked).toEqual({ type: "interrupted" });
  });

  test.each([
    ["is not over", true],
    ["may be sent again", false],
  ])("a call that takes too long %s where its provider has named it: %p", async (_, named) => {
    const model: Model = {
      ask: async (_request, _signal, context) => {
        if (named) await context?.onAccepted?.("resp_1");
        return await new Promise<never>(() => {});
      },
    };
    jest.useFakeTimers();
    try {
      const asked = ask(model);
      await jest.advanceTimersByTimeAsync(MODEL_CALL_MAX_MS);
      expect(await asked).toEqual({
        type: "failed",
        failure: {
          error: { code: "model.unavailable", message: "The model did not answer within 60 minutes." },
          retryable: true,
          ...(named ? { goesOn: true } : {}),
        },
      });
    } finally {
      jest.useRealTimers();
    }
  });

  test("an answer that is there all the same is kept: it is paid", async () => {
    const stop = new AbortController();
    const model: Model = {
      ask: async () => {
        stop.abort();
        return { ok: true, response: { content: [], stopReason: "end", usage } };
      },
    };
    expect(await ask(model, stop.signal)).toMatchObject({ type: "answered" });
  });

  test("over HTTP: an interrupt ends a connection that never answers", async () => {
    const server = await chatServer();
    try {
      server.reply = { fault: "never" };
      const models = createModels({ env: { OPENAI_BASE_URL: server.baseURL } });
      const stop = new AbortController();
      const asked = askModel({ models } as EngineDeps, { ...request, model: "openai/any" }, stop.signal, NO_CONTEXT);
      for (let i = 0; i < 200 && server.requests.length === 0; i++) await new Promise((r) => setTimeout(r, 10));
      stop.abort();
      expect(await asked).toEqual({ type: "interrupted" });
      expect(server.requests).toHaveLength(1);
    } finally {
      await server.close();
    }
  });
});

describe("the policy of retries", () => {
  const failure = (retryAfterMs?: number): ModelFailure => ({
    error: { code: "model.unavailable", message: "busy" },
    retryable: true,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });

  test("doubles, within a bound, with jitter over the upper half", () => {
    for (let tries = 1; tries <= 40; tries++) {
      const ceiling = Math.min(MODEL_BACKOFF_MAX_MS, MODEL_BACKOFF_MS * 2 ** (tries - 1));
      expect(backoffMs(failure(), tries, 0)).toBe(ceiling / 2);
      expect(backoffMs(failure(), tries, 1)).toBe(ceiling);
    }
  });

  test("honours what the provider asks for, and no more than is sensible", () => {
    expect(backoffMs(failure(5_000), 1, 0)).toBe(5_000);
    expect(backoffMs(failure(1), 4, 0.5)).toBe(MODEL_BACKOFF_MS * 8 * 0.75);
    expect(backoffMs(failure(30 * 24 * 3_600_000), 1, 0)).toBe(MODEL_RETRY_AFTER_MAX_MS); // longer than timers can hold
  });

  test("all tries of one call are over within a lease or two, when no provider asks for more", () => {
    const waits = Array.from({ length: MODEL_TRIES - 1 }, (_, i) => backoffMs(failure(), i + 1, 1));
    expect(waits.reduce((a, b) => a + b, 0)).toBeLessThan(60_000);
  });
});
