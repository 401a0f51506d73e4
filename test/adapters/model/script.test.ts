// The scripted model that other tests count on: its answers, and its ledger of what a provider would bill.
import { describe, expect, test } from "@jest/globals";
import { createScriptedModel, type Turn } from "../../../shared/adapters/model/script.ts";
import { type Message, type ModelRequest, modelResponse } from "../../../shared/core/messages.ts";

const messages: Message[] = [{ role: "user", content: [{ type: "text", text: "Hi." }] }];
const request: ModelRequest = { model: "mock/script", system: "", tools: [], messages, maxTokens: 9, options: {} };
const never = new AbortController().signal;
const saying = (turn: Turn) => createScriptedModel(() => turn).ask(request, never);

describe("a scripted model", () => {
  test.each<[string, Turn, object]>([
    ["text", "Hello.", { content: [{ type: "text", text: "Hello." }], stopReason: "end" }],
    [
      "calls",
      {
        tools: [
          { name: "a", args: { n: 1 } },
          { name: "b", args: {}, id: "mine" },
        ],
        text: "I look.",
      },
      {
        content: [
          { type: "text", text: "I look." },
          { type: "toolUse", id: "call_1_0", name: "a", args: { n: 1 } },
          { type: "toolUse", id: "mine", name: "b", args: {} },
        ],
        stopReason: "toolUse",
      },
    ],
    ["a refusal", { refusal: true }, { stopReason: "refusal" }],
  ])("answers with %s", async (_, turn, response) => {
    const answer = await saying(turn);
    expect(answer).toMatchObject({ ok: true, response });
    expect(answer.ok && modelResponse.safeParse(answer.response).success).toBe(true);
  });

  test("fails as a provider does", async () => {
    expect(await saying({ status: 429, retryAfterMs: 5 })).toMatchObject({
      ok: false,
      failure: { error: { code: "model.unavailable" }, retryable: true, retryAfterMs: 5 },
    });
    expect(await saying({ status: 529 })).toMatchObject({ ok: false, failure: { retryable: true } });
  });

  test("keeps a ledger: each question as it was asked, and whether it was answered", async () => {
    const model = createScriptedModel((_, n) => `answer ${n}`);
    const growing = [...messages];
    await model.ask({ ...request, messages: growing }, never);
    growing.push({ role: "assistant", content: [{ type: "text", text: "answer 0" }] });
    expect(await model.ask({ ...request, messages: growing }, never)).toMatchObject({
      response: { content: [{ text: "answer 1" }] },
    });
    expect(model.ledger.map(({ n, answered, request: asked }) => [n, answered, asked.messages.length])).toEqual([
      [0, true, 1],
      [1, true, 2],
    ]);
  });

  test("an interrupted call was asked and not answered", async () => {
    const stop = new AbortController();
    const model = createScriptedModel(async () => {
      stop.abort();
      return "too late";
    });
    expect(await model.ask(request, stop.signal)).toMatchObject({ ok: false, failure: { retryable: true } });
    expect(model.ledger).toMatchObject([{ answered: false }]);
  });
});
