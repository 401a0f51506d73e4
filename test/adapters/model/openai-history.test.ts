// Over 300 lines: each case stands with the exchange that it is about. Conversations as OpenAI gets them, by either interface: legal whatever happened in them, reasoning in pairs or not at all.
import { afterAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Json } from "../../../shared/core/json.ts";
import type { AssistantPart, Message, ModelResponse } from "../../../shared/core/messages.ts";
import { answerMessage, normalise, resultsMessage } from "../../../shared/core/task/history.ts";
import { nextAction } from "../../../shared/core/task/loop.ts";
import { begin, CAPS, started, type Tape, type Task, tapeOf, task, turn } from "../../core/task/driver.ts";
import { asking, assistant, closeAll, kinds, result, use, user } from "../../support/wire/openai/asking.ts";
import type { Asked, Reply, ReplyItem } from "../../support/wire/openai/index.ts";

afterAll(closeAll);

/** Says one reply after the other, then goodbye. */
const inTurn =
  (...replies: readonly Reply[]) =>
  (_: Asked, n: number): Reply =>
    replies[n] ?? "Bye.";
const opaque = (provider: string, data: Json): AssistantPart => ({ type: "opaque", provider, data });

describe("reasoning", () => {
  test("goes back as it came, with the items that followed it under their ids", async () => {
    const { answer, sent } = await asking({
      model: "gpt-6-sol",
      script: inTurn(
        {
          items: [
            { reasoning: "r1", summary: ["é 😀"] },
            { text: "I look.", phase: "commentary" },
            { tool: "look", json: '{ "q": 1.0 }', id: "call_1" },
            { reasoning: "r2" },
            { tool: "look", args: {}, id: "call_2" },
          ],
        },
        { items: [{ reasoning: "r3" }, { text: "Done." }] },
      ),
    });
    const messages: Message[] = [user("Hi.")];
    messages.push(answerMessage((await answer({ messages })).content), user(result("call_1"), result("call_2")));
    messages.push(answerMessage((await answer({ messages })).content), user("And?"));
    await answer({ messages });
    expect(kinds(sent(2))).toEqual([
      "user",
      "reasoning#",
      "assistant#",
      "function_call#",
      "reasoning#",
      "function_call#",
      "function_call_output",
      "function_call_output",
      "reasoning#",
      "assistant#",
      "user",
    ]);
    const [, first, said, call] = sent(1).body.input;
    expect(first).toMatchObject({ summary: [{ text: "é 😀" }], encrypted_content: expect.stringMatching(/^gAAAA/) });
    expect(said).toMatchObject({ phase: "commentary", status: "completed" });
    expect(call).toMatchObject({ arguments: '{ "q": 1.0 }' }); // the text that the next reasoning was written after
  });

  test("of another model of OpenAI's is left out, and the ids of what followed it too", async () => {
    const { answer } = await asking({
      model: "gpt-6-sol",
      script: inTurn({ items: [{ reasoning: "r" }, { tool: "look", id: "a" }] }),
    });
    const { content } = await answer();
    const other = await asking({ model: "gpt-5-mini" });
    await other.answer({ messages: [user("Hi."), answerMessage(content), user(result("a"))] });
    expect(kinds(other.sent())).toEqual(["user", "function_call", "function_call_output"]);
    expect(other.sent().body.input[1]).not.toHaveProperty("phase");
  });

  test.each<[string, Reply]>([
    ["a blank text", { items: [{ reasoning: "r" }, { text: " " }, { tool: "look", id: "a" }] }],
    ["nothing, the answer being cut", { items: [{ reasoning: "r" }], status: "incomplete" }],
    ["a text that was cut", { items: [{ reasoning: "r" }, { text: "It is" }], status: "incomplete" }],
    ["a call that was never run", { items: [{ reasoning: "r" }, { refusal: "No." }, { tool: "look", id: "never" }] }],
  ])("that is followed by %s is left out", async (_, reply) => {
    const { answer, sent, wire } = await asking({ script: inTurn(reply) });
    const { content } = await answer();
    const results = content.flatMap((part) => (part.type === "toolUse" && part.id === "a" ? [result("a")] : []));
    await answer({ messages: [user("Hi."), answerMessage(content), user(...results, "Go on.")] });
    expect(kinds(sent()).filter((kind) => kind.endsWith("#"))).toEqual([]);
    expect(wire.ledger).toHaveLength(2); // it wasn't refused
  });

  const otherThan = (text: string): string => (text === "gAAAAx" ? "gAAAAy" : "gAAAAx");

  test("that the provider doesn't know any more is left out, and the question asked again, unpaid", async () => {
    const { answer, wire } = await asking({ script: inTurn({ items: [{ reasoning: "r" }, { text: "Yes." }] }) });
    const { content } = await answer();
    const forged = content.map((part) =>
      part.type === "opaque"
        ? { ...part, data: JSON.parse(JSON.stringify(part.data).replace(/gAAAA\w/, otherThan)) }
        : part,
    );
    await answer({ messages: [user("Hi."), answerMessage(forged), user("And?")] });
    expect(wire.ledger.map(({ refusal, billed }) => [refusal === null, billed !== null])).toEqual([
      [true, true],
      [false, false],
      [true, true],
    ]);
    expect(wire.ledger[1]?.refusal).toContain("could not be verified");
    expect(wire.ledger[2]?.body.input.map(({ type }) => type)).toEqual(["message", "message", "message"]);
  });

  test("that stands twice in a conversation goes back once", async () => {
    const { answer, sent, wire } = await asking({ script: inTurn({ items: [{ reasoning: "r" }, { text: "Yes." }] }) });
    const said = answerMessage((await answer()).content);
    await answer({ messages: [user("Hi."), said, user("Again."), said, user("And?")] });
    expect(kinds(sent())).toEqual(["user", "reasoning#", "assistant#", "user", "assistant", "user"]);
    expect(wire.ledger).toHaveLength(2);
  });

  test("with lone surrogates in its summary can't be sent, and isn't", async () => {
    const { answer, sent } = await asking({
      script: inTurn({ items: [{ reasoning: "r", summary: ["cut \ud83d"] }, { text: "Yes." }] }),
    });
    await answer({ messages: [user("Hi."), answerMessage((await answer()).content), user("And?")] });
    expect(kinds(sent())).toEqual(["user", "assistant", "user"]);
  });

  test("a search of the provider's goes back with what followed it", async () => {
    const options = { tools: [{ type: "web_search" }] };
    const { answer, sent } = await asking({
      script: inTurn({ items: [{ reasoning: "r" }, { search: "x" }, { text: "It is x." }] }),
    });
    await answer({
      options,
      messages: [user("Hi."), answerMessage((await answer({ options })).content), user("And?")],
    });
    expect(kinds(sent())).toEqual(["user", "reasoning#", "web_search_call#", "assistant#", "user"]);
    expect(sent().body.tools?.at(-1)).toEqual({ type: "web_search" });
  });

  test("of chat completions goes back beside the calls of the turn that goes on, under its own name", async () => {
    const { answer, sent } = await asking({
      model: "local-thinker",
      server: true,
      showsReasoning: true,
      script: inTurn(
        { items: [{ reasoning: "Hmm." }, { tool: "look", id: "a" }] },
        { items: [{ reasoning: "So." }, { text: "Done." }] },
      ),
    });
    const messages: Message[] = [user("Hi.")];
    messages.push(answerMessage((await answer({ messages })).content), user(result("a")));
    messages.push(answerMessage((await answer({ messages })).content), user("And?"));
    await answer({ messages });
    const thoughts = (n: number) =>
      sent(n).body.messages.map((m) => ("reasoning_content" in m ? m.reasoning_content : null));
    expect(thoughts(1)).toEqual([null, null, "Hmm.", null]);
    expect(thoughts(2)).toEqual([null, null, null, null, null, null]);
  });
});

describe("ids and names", () => {
  test.each(["responses", "chat"])("c4: two answers with the same ids of calls, by %s", async (api) => {
    const twice = {
      items: [
        { tool: "look", args: { n: 1 }, id: "same" },
        { tool: "look", args: { n: 2 }, id: "same" },
      ],
    };
    const { answer, sent, wire } = await asking({ model: "gpt-4o", script: inTurn(twice, twice) });
    const messages: Message[] = [user("Hi.")];
    const used = new Set<string>();
    for (const _ of [1, 2]) {
      const { content } = normalise(await answer({ messages, options: { api } }), used);
      const ids = content.flatMap((part) => (part.type === "toolUse" ? [part.id] : []));
      for (const id of ids) used.add(id);
      messages.push(answerMessage(content), user(...ids.map((id) => result(id))));
    }
    await answer({ messages, options: { api } });
    expect(used.size).toBe(4);
    expect(wire.ledger.map(({ refusal }) => refusal)).toEqual([null, null, null]);
    expect(sent().raw).toContain("same_4");
  });

  test.each(["responses", "chat"])("a tool's name that is a whole shell command, by %s", async (api) => {
    const command = "cd /tmp && grep -rn 'the 😀 thing' . | awk '{ print $1 }' | sort | uniq -c | sort -rn | head -20";
    const { answer, wire, sent } = await asking({
      model: "gpt-4o",
      script: inTurn({ items: [{ tool: command, id: "odd id!" }] }),
    });
    const { content } = normalise(await answer({ options: { api } }), new Set());
    expect(content).toMatchObject([{ type: "toolUse", name: command }]);
    const [call] = content;
    const id = call?.type === "toolUse" ? call.id : "";
    const found = resultsMessage([{ toolUseId: id, result: "no such tool", isError: true }]);
    await answer({ options: { api }, messages: [user("Hi."), answerMessage(content), found] });
    expect(wire.ledger.map(({ refusal }) => refusal)).toEqual([null, null]);
    expect(sent().raw).toContain("cd__tmp____grep");
  });

  test.each(["responses", "chat"])(
    "50 calls in one answer, by %s; more than a message holds are several",
    async (api) => {
      const many = (n: number) => ({
        items: Array.from({ length: n }, (_, i) => ({ tool: "look", args: { i }, id: `c${i}` })),
      });
      for (const n of [50, 300]) {
        const { answer, wire, sent } = await asking({ model: "gpt-4o", script: inTurn(many(n)) });
        const { content } = await answer({ options: { api } });
        expect(content).toHaveLength(n);
        const results = content.map((_, i) => result(`c${i}`, `r${i}`));
        await answer({ options: { api }, messages: [user("Hi."), answerMessage(content), user(...results, "Go on.")] });
        expect(wire.ledger.map(({ refusal }) => refusal)).toEqual([null, null]);
        expect(sent().raw.match(/"r\d+"/g)).toHaveLength(n);
      }
    },
  );
});

describe("a switch of provider", () => {
  test.each(["responses", "chat"])(
    "from Anthropic and Bedrock in the middle of a turn, by %s: their reasoning is dropped, the rest stays",
    async (api) => {
      const { answer, sent } = await asking({ model: "gpt-4.1" });
      await answer({
        options: { api },
        messages: [
          user("Hi."),
          assistant(
            opaque("anthropic", { type: "thinking", thinking: "Hm.", signature: "s" }),
            { type: "text", text: "I look." },
            opaque("bedrock", { text: "r", signature: "s" }),
            use("toolu_01"),
          ),
          user(result("toolu_01")),
          assistant(opaque("anthropic", { type: "redacted_thinking", data: "x" })),
        ],
      });
      expect(sent().raw).not.toMatch(/Hm\.|signature|redacted/);
      expect(sent().raw).toContain("toolu_01");
    },
  );
});

const ITEMS: readonly ((tape: Tape) => ReplyItem)[] = [
  (tape) => ({ text: ["Done.", '{"n":1}', "", " \n ", "nul \u0000 and é", "cut \ud83d"][tape.pick(6)] ?? "" }),
  (tape) => ({ reasoning: "Hmm.", summary: [[], ["So 😀."], ["A.", "B."], ["cut \ud83d"]][tape.pick(4)] ?? [] }),
  (tape) => ({
    tool: ["look", "pay", "not legal!", "rm -rf / # now", ""][tape.pick(5)] ?? "",
    id: ["same", "other", "odd id!", ""][tape.pick(4)] ?? "",
    args: [{}, { q: "\u0000é\ud83d" }, { deep: [[{}]] }][tape.pick(3)],
  }),
  (tape) => ({ tool: "look", json: ['{"q":', "[1]", "null", '{ "a" : 1 }'][tape.pick(4)] ?? "" }),
  () => ({ refusal: "I can't." }),
  () => ({ search: "x" }),
];

/** Anything that the API could answer. */
function anyReply(tape: Tape): Reply {
  const items = Array.from({ length: tape.pick(5) }, () => ITEMS[tape.pick(ITEMS.length)]?.(tape) ?? { text: "." });
  return { items, status: tape.pick(6) === 5 ? "incomplete" : "completed" };
}

const FOREIGN: readonly AssistantPart[] = [
  opaque("anthropic", { type: "thinking", thinking: "Hm.", signature: "s" }),
  opaque("bedrock", { model: "x", prefix: "y", text: "r" }),
  opaque("openai", {
    kind: "item",
    item: { type: "reasoning", id: "rs_unknown", summary: [] },
    cut: false,
    model: "other",
    stored: false,
  }),
  opaque("openai", { kind: "next", id: "msg_unknown", phase: null, arguments: null, model: "other", stored: false }),
  opaque("openai", null),
  opaque("openai", ["odd"]),
];

describe("whatever OpenAI answers", () => {
  test.each([
    ["gpt-5-mini", "responses"],
    ["gpt-6-sol", "responses"],
    ["gpt-4o", "responses"],
    ["gpt-4o", "chat"],
    ["o4-mini", "chat"],
  ])(
    "the next request is one that it takes, others' reasoning in it too: %s by %s",
    async (model, api) => {
      const searching: Task = {
        ...task,
        caps: { ...CAPS, contextWindow: 1_500 }, // compaction has its turn
        role: { ...task.role, model: `openai/${model}`, options: { api } },
      };
      let tape: Tape = tapeOf([]);
      const { wire, ask } = await asking({ model, script: () => anyReply(tape) });
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 40, maxLength: 250 }), async (numbers) => {
          tape = tapeOf(numbers);
          const writer = begin(searching);
          started(writer);
          for (let n = 0; n < 25 && !tape.over; n++) {
            const action = nextAction(writer.state, searching.caps);
            let answer: ModelResponse | undefined;
            if (action.type === "ask") {
              const got = await ask(action.request);
              if (!got.ok) throw new Error(got.failure.error.message);
              const foreign = tape.pick(5) === 4 ? [FOREIGN[tape.pick(FOREIGN.length)] as AssistantPart] : [];
              answer = normalise(
                { ...got.response, content: [...foreign, ...got.response.content] },
                writer.state.usedIds,
              );
            }
            const usage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 };
            if (!turn(writer, searching.caps, tape, () => answer ?? { content: [], stopReason: "end", usage })) break;
          }
        }),
        { numRuns: 300, endOnFailure: true },
      );
      expect(wire.ledger.flatMap(({ refusal }) => (refusal === null ? [] : [refusal]))).toEqual([]);
      expect(wire.ledger.length).toBeGreaterThan(400);
      const sentBack = wire.ledger.filter(({ raw }) => raw.includes('encrypted_content":"gAAAA')).length;
      if (api === "responses" && model !== "gpt-4o") expect(sentBack).toBeGreaterThan(5); // pairs did go back
    },
    60_000,
  );
});
