// Conversations as Claude gets them: legal whatever happened, thinking as it came or not at all.
import { afterAll, describe, expect, it } from "@jest/globals";
import type { AssistantPart, Message } from "../../../shared/core/messages.ts";
import { answerMessage } from "../../../shared/core/task/history.ts";
import { asking, assistant, closeAll, result, user } from "../../support/wire/anthropic/asking.ts";
import type { Body, Reply } from "../../support/wire/anthropic/index.ts";

afterAll(closeAll);

const kinds = (body: Body | undefined): string[] =>
  (body?.messages ?? []).map(({ role, content }) => `${role}: ${content.map(({ type }) => type).join(" ")}`);

const opaque = (provider: string, data: object): AssistantPart => ({ type: "opaque", provider, data: data as never });

describe("thinking", () => {
  it("goes back string-identical, in its place, with its signature", async () => {
    const { wire, answer } = await asking({
      script: (_, n) =>
        n < 2
          ? {
              content: [
                { thinking: "Let me see: é 😀\n" },
                { redacted: "secret" },
                { text: "I look." },
                { tool: "look", id: `t${n}` },
              ],
            }
          : "Done.",
    });
    const messages: Message[] = [user("Hi.")];
    for (const id of ["t0", "t1"]) {
      const { content } = await answer({ messages });
      messages.push(answerMessage(content), user(result(id)));
    }
    await answer({ messages });
    expect(kinds(wire.ledger[2]?.body)).toEqual([
      "user: text",
      "assistant: thinking redacted_thinking text tool_use",
      "user: tool_result",
      "assistant: thinking redacted_thinking text tool_use",
      "user: tool_result",
    ]);
    expect(wire.ledger[2]?.body.messages[1]?.content[0]).toMatchObject({ thinking: "Let me see: é 😀\n" });
  });

  it.each([
    ["an older part was folded into a summary", [user("A summary of it.")]],
    ["the user's words were edited", [user("Hello.")]],
  ])("of a model that binds it is left out when %s, and what comes after is kept", async (_, beginning) => {
    const { wire, answer } = await asking({
      script: (__, n) =>
        n < 2 ? { content: [{ thinking: `Thought ${n}.` }, { tool: "look", id: `t${n}` }] } : "Done.",
    });
    const first = await answer({});
    const messages = [...beginning, answerMessage(first.content), user(result("t0"))];
    const second = await answer({ messages });
    messages.push(answerMessage(second.content), user(result("t1")));
    await answer({ messages });
    expect(kinds(wire.ledger[2]?.body)).toEqual([
      "user: text",
      "assistant: tool_use",
      "user: tool_result",
      "assistant: thinking tool_use",
      "user: tool_result",
    ]);
    expect(wire.ledger.map(({ refusal }) => refusal)).toEqual([null, null, null]);
  });

  it("of a model that binds it is left out under an edited system prompt or other tools", async () => {
    const { wire, answer } = await asking({
      script: () => ({ content: [{ thinking: "Thought." }, { text: "Yes." }] }),
    });
    const { content } = await answer({});
    const messages = [user("Hi."), answerMessage(content), user("And now?")];
    await answer({ messages, system: "You look elsewhere." });
    await answer({ messages, tools: [] });
    await answer({ messages });
    expect(wire.ledger.slice(1).map(({ body }) => kinds(body)[1])).toEqual([
      "assistant: text",
      "assistant: text",
      "assistant: thinking text",
    ]);
  });

  it("of a model that doesn't bind it is kept under an edited prompt", async () => {
    const { wire, answer } = await asking({
      model: "claude-opus-4-8",
      script: () => ({ content: [{ thinking: "Thought." }, { text: "Yes." }] }),
    });
    const { content } = await answer({ options: { thinking: { type: "adaptive" } } });
    await answer({
      messages: [user("Hello."), answerMessage(content), user("And now?")],
      system: "You look elsewhere.",
    });
    expect(kinds(wire.ledger[1]?.body)[1]).toBe("assistant: thinking text");
  });

  it("of another model or another provider is left out, and an answer that is empty then too", async () => {
    const other = await asking({
      model: "claude-opus-4-8",
      script: () => ({ content: [{ thinking: "Thought." }, { text: "Yes." }] }),
    });
    const { content } = await other.answer({});
    const { wire, answer } = await asking();
    await answer({
      messages: [
        user("Hi."),
        answerMessage(content),
        user("More."),
        assistant([opaque("bedrock", { text: "r", signature: "s" })]),
        user("Hello?"),
      ],
    });
    expect(kinds(wire.ledger[0]?.body)).toEqual(["user: text", "assistant: text", "user: text text"]);
  });

  it("that was cut before its signature, or ends an answer, is left out", async () => {
    const { wire, answer } = await asking({
      script: (_, n) =>
        n === 0
          ? { content: [{ thinking: "On and on", unsigned: true }], stop: "max_tokens" }
          : n === 1
            ? { content: [{ text: "Yes." }, { thinking: "Or no." }], stop: "max_tokens" }
            : "Done.",
    });
    const messages: Message[] = [user("Hi.")];
    for (const words of ["Go on.", "And?"])
      messages.push(answerMessage((await answer({ messages })).content), user(words));
    await answer({ messages });
    expect(kinds(wire.ledger[2]?.body)).toEqual(["user: text text", "assistant: text", "user: text"]);
  });

  it("that the provider refuses all the same is left out, and the question asked again, unpaid", async () => {
    const { wire, answer } = await asking({ model: "claude-opus-4-8", refusals: true });
    const forged = opaque("anthropic", { type: "thinking", thinking: "Mine.", signature: "forged" });
    await answer({ messages: [user("Hi."), assistant([forged, { type: "text", text: "Yes." }]), user("And?")] });
    expect(wire.ledger.map(({ refusal, billed }) => [refusal !== null, billed !== null])).toEqual([
      [true, false],
      [false, true],
    ]);
    expect(kinds(wire.ledger[1]?.body)).toEqual(["user: text", "assistant: text", "user: text"]);
  });
});

describe("a thinking budget", () => {
  const options = { thinking: { type: "enabled", budget_tokens: 2_000 } };
  const use: AssistantPart = { type: "toolUse", id: "t", name: "look", args: {} };
  const budgets = (bodies: readonly { readonly body: Body }[]): unknown[] => bodies.map(({ body }) => body.thinking);

  it("is asked for, and left out where the answer may not be longer than it: a summary", async () => {
    const { wire, answer } = await asking({ model: "claude-sonnet-4-5" });
    await answer({ options, maxTokens: 2_001 });
    await answer({ options, maxTokens: 2_000 });
    expect(budgets(wire.ledger)).toEqual([options.thinking, undefined]);
  });

  it("is left out while the model goes on from calls of another model, and comes back with the next turn", async () => {
    const { wire, answer } = await asking({ model: "claude-sonnet-4-5" });
    const foreign = opaque("openai", { kind: "text", text: "Mine." });
    const called = [user("Hi."), assistant([foreign, use]), user(result("t"))];
    await answer({ options, maxTokens: 8_000, messages: called });
    await answer({
      options,
      maxTokens: 8_000,
      messages: [...called, assistant([{ type: "text", text: "Done." }]), user("More.")],
    });
    expect(budgets(wire.ledger)).toEqual([undefined, options.thinking]);
  });

  it("stays while the model goes on from its own calls, and thinks at the beginning of its turn alone", async () => {
    const { wire, answer } = await asking({
      model: "claude-sonnet-4-5",
      script: (_, n) => ({ content: [...(n === 0 ? [{ thinking: "Hm." }] : []), { tool: "look", id: `t${n}` }] }),
    });
    const messages: Message[] = [user("Hi.")];
    for (const id of ["t0", "t1", "t2"]) {
      const { content } = await answer({ options, maxTokens: 8_000, messages });
      messages.push(answerMessage(content), user(result(id)));
    }
    expect(budgets(wire.ledger)).toEqual([options.thinking, options.thinking, options.thinking]);
    expect(kinds(wire.ledger[2]?.body)[3]).toBe("assistant: tool_use");
  });

  it("that the provider refuses all the same is left out, and the question asked again, unpaid", async () => {
    const message =
      "messages.1.content.0.type: When `thinking` is enabled, a final `assistant` message must start with a thinking block";
    const { wire, answer } = await asking({
      model: "claude-sonnet-4-5",
      faults: (n) => (n === 0 ? { status: 400, type: "invalid_request_error", message } : null),
    });
    await answer({ options, maxTokens: 8_000 });
    expect(budgets(wire.ledger)).toEqual([options.thinking, undefined]);
  });
});

describe("a conversation", () => {
  it("has results first, whatever was said meanwhile", async () => {
    const { wire, answer } = await asking();
    const use: AssistantPart = { type: "toolUse", id: "t", name: "look", args: {} };
    await answer({ messages: [user("Hi."), assistant([use]), user("Also this.", result("t"), "  ")] });
    expect(kinds(wire.ledger[0]?.body)).toEqual(["user: text", "assistant: tool_use", "user: tool_result text"]);
  });

  it("c8: that holds calls has tools, though none are offered now, and none can be called", async () => {
    const { wire, answer } = await asking();
    const use: AssistantPart = { type: "toolUse", id: "t", name: "gone", args: { a: 1 } };
    await answer({ messages: [user("Hi."), assistant([use]), user(result("t"))], tools: [] });
    expect(wire.ledger[0]?.body).toMatchObject({ tools: [{ name: "gone" }], tool_choice: { type: "none" } });
  });

  it("without any tools has no choice of them: a summary of one that had", async () => {
    const { wire, answer } = await asking({ model: "claude-sonnet-4-5" });
    const options = { tool_choice: { type: "any" } };
    await answer({ options });
    await answer({ options, tools: [] });
    expect(wire.ledger.map(({ body }) => body.tool_choice)).toEqual([{ type: "any" }, undefined]);
  });

  it("that another provider's model paused is gone on with, since newer models don't continue words", async () => {
    const { wire, answer } = await asking();
    await answer({ messages: [user("Hi."), assistant([{ type: "text", text: "I look " }])] });
    expect(kinds(wire.ledger[0]?.body)).toEqual(["user: text", "assistant: text", "user: text"]);
  });

  it("in which a call was refused, and never run, goes on without it", async () => {
    const { wire, answer } = await asking({
      script: (_, n) =>
        n === 0 ? { content: [{ text: "I won't." }, { tool: "look", id: "t" }], stop: "refusal" } : "Fine.",
    });
    const { content } = await answer({});
    await answer({ messages: [user("Hi."), answerMessage(content), user("Something else, then.")] });
    expect(kinds(wire.ledger[1]?.body)).toEqual(["user: text", "assistant: text", "user: text"]);
  });

  it("c9: that was paused is sent back as it is, and goes on with its thinking", async () => {
    const options = { tools: [{ type: "web_search_20250305", name: "web_search" }] };
    const script = (_: Body, n: number): Reply =>
      [
        {
          content: [{ thinking: "First." }, { text: "I search. " }, { search: "x", id: "srvtoolu_1" }],
          stop: "pause_turn" as const,
        },
        {
          content: [
            { answerTo: "srvtoolu_1", found: "y" },
            { thinking: "Second." },
            { search: "z", found: "w" },
            { text: "It is y. " },
          ],
          stop: "pause_turn" as const,
        },
        { content: [{ text: "All done." }] },
        "Bye.",
      ][n] ?? "?";
    const { wire, answer } = await asking({ script });
    const said: AssistantPart[] = [];
    for (const stop of ["pause", "pause", "end"]) {
      const { content, stopReason } = await answer({
        messages: [user("Hi."), ...(said.length === 0 ? [] : [assistant(said)])],
        options,
      });
      expect(stopReason).toBe(stop);
      said.push(...(answerMessage(content).content as AssistantPart[]));
    }
    await answer({ messages: [user("Hi."), assistant(said), user("Thanks.")], options });
    expect(kinds(wire.ledger[2]?.body)).toEqual([
      "user: text",
      "assistant: thinking text server_tool_use web_search_tool_result thinking server_tool_use web_search_tool_result text",
    ]);
    expect(wire.ledger[2]?.body.messages[1]?.content.at(-1)).toMatchObject({ text: "It is y." }); // no blank may end it
    expect(wire.ledger.map(({ refusal }) => refusal)).toEqual([null, null, null, null]);
  });

  it("in which a search of the provider's stayed open goes on without it", async () => {
    const options = { tools: [{ type: "web_search_20250305", name: "web_search" }] };
    const { wire, answer } = await asking({
      script: (_, n) =>
        n === 0 ? { content: [{ text: "I search." }, { search: "x" }, { tool: "look", id: "t" }] } : "Done.",
    });
    const { content } = await answer({ options });
    const messages = [user("Hi."), answerMessage(content), user(result("t"))];
    await answer({ messages, options }); // goes on with the search
    await answer({ messages: [...messages.slice(0, -1), user(result("t"), "Never mind.")], options });
    expect(wire.ledger.slice(1).map(({ body }) => kinds(body)[1])).toEqual(
      ["assistant: text server_tool_use tool_use", "assistant: text server_tool_use tool_use"].map((with_, i) =>
        i === 0 ? with_ : "assistant: text tool_use",
      ),
    );
    const folded = assistant([
      opaque("anthropic", { type: "web_search_tool_result", tool_use_id: "srvtoolu_gone", content: [] }),
      { type: "text", text: "So." },
    ]);
    await answer({ messages: [user("A summary."), folded, user("And?")], options });
    expect(kinds(wire.ledger[3]?.body)[1]).toBe("assistant: text");
  });
});
