// bedrock/ over real HTTP: whatever a log holds, and whatever the model answered, the next request is one that Bedrock takes.
import { describe, expect, test } from "@jest/globals";
import type { AssistantPart, Message, ModelRequest } from "../../../shared/core/messages.ts";
import { answerMessage, normalise, resultsMessage, toolUses } from "../../../shared/core/task/history.ts";
import type { Answer } from "../../support/wire/bedrock/answer.ts";
import {
  assistant,
  CLAUDE,
  LLAMA,
  LOOK,
  MODELS,
  NEW_CLAUDE,
  NOVA,
  OPAQUE,
  QWEN,
  result,
  user,
  uses,
  wiring,
} from "../../support/wire/bedrock/harness.ts";

const wire = wiring();

const text = (words: string) => ({ type: "text", text: words }) as const;

describe("turns", () => {
  const messagesOf = async (model: string, messages: readonly Message[], of: Partial<ModelRequest> = {}) => {
    const { answered, sent } = await wire(model);
    await answered({ messages, ...of });
    return sent().messages.map(({ role, content }) => ({ role, content: content.filter((b) => !("cachePoint" in b)) }));
  };

  test("results first, in the order of their calls, then the words of several messages", async () => {
    const sent = await messagesOf(CLAUDE, [
      user("Go."),
      assistant(text("I look."), uses("c1"), uses("c2")),
      user(result("c2", "two"), "And more.", result("c1", "one", true)),
      user("And then?"),
    ]);
    expect(sent[2]?.content).toEqual([
      { toolResult: { toolUseId: "c1", content: [{ text: "one" }], status: "error" } },
      { toolResult: { toolUseId: "c2", content: [{ text: "two" }], status: "success" } },
      { text: "And more." },
      { text: "And then?" },
    ]);
  });

  test.each([LLAMA, QWEN, OPAQUE])("%s takes results and words in turns of their own, and no status", async (model) => {
    const sent = await messagesOf(model, [user("Go."), assistant(uses("c1")), user(result("c1", "one", true), "So?")]);
    expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "user"]);
    expect(sent[2]?.content).toEqual([{ toolResult: { toolUseId: "c1", content: [{ text: "one" }] } }]);
    expect(sent[4]?.content).toEqual([{ text: "So?" }]);
  });

  test("c7: blank texts are left out, blank results say so, and what is empty then is no turn", async () => {
    const sent = await messagesOf(CLAUDE, [
      user("Go.", " "),
      assistant(text(""), text(" \n")),
      user("Well?"),
      assistant(text("\t"), uses("c1")),
      user(result("c1", "", true)),
    ]);
    expect(sent).toEqual([
      { role: "user", content: [{ text: "Go." }, { text: "Well?" }] },
      { role: "assistant", content: [{ toolUse: { toolUseId: "c1", name: "look", input: {} } }] },
      {
        role: "user",
        content: [{ toolResult: { toolUseId: "c1", content: [{ text: "(no output)" }], status: "error" } }],
      },
    ]);
  });

  test.each<[string, Message[]]>([
    ["the model's turn first", [assistant(text("Hello.")), user("Hi.")]],
    ["the model's turn last", [user("Hi."), assistant(text("Hello."))]],
    ["a call without a result", [user("Hi."), assistant(uses("c1")), user("Well?")]],
    ["calls last", [user("Hi."), assistant(uses("c1"), uses("c2"))]],
    ["a result without a call", [user("Hi."), assistant(text("Ho.")), user(result("c9", "lost"))]],
    ["two results of one call", [user("Hi."), assistant(uses("c1")), user(result("c1", "a"), result("c1", "b"))]],
    ["no message at all", []],
    ["nothing but blanks", [user(" "), assistant(text("")), user("")]],
  ])("a history that shouldn't be is sent all the same: %s", async (_, messages) => {
    for (const model of MODELS) {
      const { answered } = await wire(model);
      await answered({ messages });
    }
  });

  test("tool names that are whole shell commands, and ids that no provider takes", async () => {
    const { answered, server, sent } = await wire();
    const name = 'cd /srv && ls -la | grep "x" > out.txt; echo done '.repeat(3);
    server.script = ({ n }) =>
      n === 0 ? { content: [{ toolUse: { name, input: {}, toolUseId: "no good!" } }] } : "Fine.";
    const response = normalise(await answered({ tools: [LOOK] }), new Set());
    expect(toolUses(response.content)[0]?.name).toBe(name); // the log keeps what was said
    const results = resultsMessage(
      toolUses(response.content).map(({ id }) => ({ toolUseId: id, result: "no such tool", isError: true })),
    );
    await answered({ tools: [LOOK], messages: [user("Hi."), answerMessage(response.content), results] });
    expect(JSON.stringify(sent())).toContain("cd__srv____ls");
  });

  test("c4: two calls with one id in one answer, and the same id again in the next", async () => {
    const { answered, server } = await wire();
    const twice = { toolUse: { name: "look", input: {}, toolUseId: "same" } };
    server.script = ({ n }) => ({ content: n < 2 ? [twice, twice] : [{ text: "Done." }] });
    const used = new Set<string>();
    const messages: Message[] = [user("Hi.")];
    for (let step = 0; step < 3; step++) {
      const response = normalise(await answered({ tools: [LOOK], messages: [...messages] }), used);
      const calls = toolUses(response.content);
      for (const { id } of calls) used.add(id);
      messages.push(answerMessage(response.content));
      if (calls.length > 0)
        messages.push(resultsMessage(calls.map(({ id }) => ({ toolUseId: id, result: id, isError: false }))));
    }
    expect([...used]).toEqual(["same", "same_2", "same_3", "same_4"]);
    expect(server.ledger.map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});

describe("reasoning", () => {
  const REASONED: Answer = {
    content: [
      { reasoning: "First, \u00e4 \ud83d\ude00  two spaces\n" },
      { redacted: "secret" },
      { text: "I look." },
      { toolUse: { name: "look", input: { at: "x" } } },
    ],
  };
  /** Asks once for calls, then gives results. */
  const converse = async (model: string, next: Partial<ModelRequest> = {}, first: Partial<ModelRequest> = {}) => {
    const pair = await wire(model, { script: ({ n }) => (n === 0 ? REASONED : "Done.") });
    const response = await pair.answered({ tools: [LOOK], ...first });
    const id = toolUses(response.content)[0]?.id ?? "";
    const messages = [user("Hi."), answerMessage(response.content), user(result(id, "ok"))];
    await pair.answered({ tools: [LOOK], messages, ...next });
    return { ...pair, response, turn: pair.sent().messages[1]?.content ?? [], id };
  };

  test.each([CLAUDE, NEW_CLAUDE])("%s gets its own back, character by character", async (model) => {
    const { turn, response } = await converse(model);
    expect(turn.map((block) => Object.keys(block)[0])).toEqual([
      "reasoningContent",
      "reasoningContent",
      "text",
      "toolUse",
    ]);
    expect(turn[0]).toMatchObject({
      reasoningContent: { reasoningText: { text: "First, \u00e4 \ud83d\ude00  two spaces\n" } },
    });
    expect(response.content[0]).toMatchObject({ type: "opaque", provider: "bedrock" });
    expect(JSON.parse(JSON.stringify(response))).toEqual(response); // as the log keeps it
  });

  test("the same model in another region is the same model", async () => {
    const { response } = await converse(CLAUDE);
    const { answered, sent } = await wire(CLAUDE.replace("us.", "eu."));
    await answered({
      tools: [LOOK],
      messages: [user("Hi."), answerMessage(response.content), user(result("tooluse_00000001", "ok"))],
    });
    expect(JSON.stringify(sent())).toContain("reasoningText");
  });

  test.each([NOVA, LLAMA, QWEN, OPAQUE, "us.anthropic.claude-opus-4-5-20251101-v1:0"])(
    "%s doesn't get another's",
    async (model) => {
      const { response } = await converse(CLAUDE);
      const { answered, sent, server } = await wire(model);
      await answered({
        tools: [LOOK],
        messages: [user("Hi."), answerMessage(response.content), user(result("tooluse_00000001", "ok"))],
      });
      expect(JSON.stringify(sent())).not.toContain("reasoningContent");
      expect(server.ledger).toHaveLength(1);
    },
  );

  test.each([NOVA, QWEN])("%s doesn't get its own, which it would refuse", async (model) => {
    const { turn } = await converse(model);
    expect(JSON.stringify(turn)).not.toContain("reasoningContent");
  });

  test("behind an ARN that names no model a signature is a yes", async () => {
    const behind = await wire(OPAQUE, {
      profiles: { [OPAQUE]: CLAUDE },
      script: ({ n }) => (n === 0 ? REASONED : "Done."),
    });
    const response = await behind.answered({ tools: [LOOK] });
    const messages = [user("Hi."), answerMessage(response.content), user(result("tooluse_00000001", "ok"))];
    await behind.answered({ tools: [LOOK], messages });
    expect(JSON.stringify(behind.sent())).toContain("reasoningText");
    expect(behind.server.ledger).toHaveLength(2);
  });

  test("unsigned reasoning is kept for people, and sent to nobody", async () => {
    const { answered, server, sent } = await wire();
    server.script = () => ({ content: [{ reasoning: "hm", unsigned: true }, { text: "Yes." }] });
    const { content } = await answered();
    expect(content[0]).toMatchObject({ type: "opaque", data: { text: "hm" } });
    await answered({ messages: [user("Hi."), answerMessage(content), user("Sure?")] });
    expect(JSON.stringify(sent())).not.toContain("hm");
    expect(server.ledger.map(({ status }) => status)).toEqual([200, 200]);
  });

  test("what was written before something changed is left out where the model binds it, and stays where it doesn't", async () => {
    for (const [model, kept] of [
      [NEW_CLAUDE, false],
      [CLAUDE, true],
    ] as const) {
      const { turn, server } = await converse(model, { system: "You are long-winded." });
      expect(JSON.stringify(turn).includes("reasoningText")).toBe(kept);
      expect(server.ledger).toHaveLength(2); // it was right at once
    }
  });

  test("a folded history: reasoning after the summary goes, the next is kept again", async () => {
    const { answered, server, sent } = await wire(NEW_CLAUDE);
    server.script = ({ n }) => ({ content: [{ reasoning: `thought ${n}` }, { text: `said ${n}` }] });
    const first = answerMessage((await answered()).content);
    const folded = [user("(a summary)", "Go on."), first, user("More.")];
    const second = answerMessage((await answered({ messages: folded })).content);
    expect(JSON.stringify(sent())).not.toContain("thought");
    await answered({ messages: [...folded, second, user("Still?")] });
    expect(JSON.stringify(sent())).not.toContain("thought 0");
    expect(JSON.stringify(sent())).toContain("thought 1");
  });

  test("a refused signature: asked again without any reasoning", async () => {
    const { response, server, answered, id } = await converse(CLAUDE);
    const [first, ...rest] = response.content;
    const changed = JSON.parse(JSON.stringify(first).replace("First", "Last")) as AssistantPart;
    const before = server.ledger.length;
    await answered({
      tools: [LOOK],
      messages: [user("Hi."), answerMessage([changed, ...rest]), user(result(id, "ok"))],
    });
    expect(server.ledger.slice(before).map(({ status }) => status)).toEqual([400, 200]);
    await answered({ tools: [LOOK], messages: [user("Hi."), answerMessage(response.content), user(result(id, "ok"))] });
    expect(JSON.stringify(server.ledger.at(-1)?.body)).toContain("reasoningText"); // another conversation is another matter
  });

  test("a turn of nothing but reasoning is no turn", async () => {
    const { answered, server, sent } = await wire();
    server.script = () => ({ content: [{ reasoning: "long" }], stopReason: "max_tokens" });
    const { content } = await answered();
    await answered({ messages: [user("Hi."), answerMessage(content), user("Again.")] });
    expect(sent().messages).toEqual([{ role: "user", content: [{ text: "Hi." }, { text: "Again." }] }]);
  });

  const thinking = { additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens: 2_000 } } };

  test("a switch to a thinking model in the middle of a turn: that turn is finished without thinking, the next has it", async () => {
    const { answered, sent } = await wire();
    const foreign = { type: "opaque", provider: "anthropic", data: { thinking: "…" } } as const;
    const history = [user("Hi."), assistant(foreign, uses("c1")), user(result("c1", "ok"))];
    await answered({ tools: [LOOK], options: thinking, maxTokens: 8_000, messages: history });
    expect(sent().additionalModelRequestFields).toBeUndefined();
    await answered({
      tools: [LOOK],
      options: thinking,
      maxTokens: 8_000,
      messages: [...history, assistant(text("Well.")), user("And?")],
    });
    expect(sent().additionalModelRequestFields).toEqual(thinking.additionalModelRequestFields);
    await answered({ options: thinking, maxTokens: 2_000 }); // a summary: no longer than the budget, which would be refused
    expect(sent().additionalModelRequestFields).toBeUndefined();
  });
});
