// What comes of an answer of Claude, and what it cost.
import { afterAll, describe, expect, it } from "@jest/globals";
import { createAnthropic } from "../../../shared/adapters/model/anthropic/index.ts";
import { factsOf } from "../../../shared/adapters/model/table.ts";
import { costOf } from "../../../shared/core/cost.ts";
import { asking, closeAll, LOOK, user } from "../../support/wire/anthropic/asking.ts";
import { createWireAnthropic } from "../../support/wire/anthropic/index.ts";

afterAll(closeAll);

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
    for (const fault of ["cut", "ends"] as const) {
      const faults = () => ({ fault, after: 16 });
      const { answer } = await asking({ script: () => "Hello.", faults }); // start, ping, block, text, end of block, change of message; the ninth ends it
      const { content } = await answer({});
      expect(content).toEqual([{ type: "text", text: "Hello." }]);
    }
  });

  it("comes from a server whose path goes on below its base URL", async () => {
    const wire = await createWireAnthropic({ script: () => "Hello." });
    const model = createAnthropic({ model: "claude-x", apiKey: "k", baseURL: `${wire.baseURL}/` });
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
