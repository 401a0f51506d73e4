// A turn that Claude paused, and the thinking that came next: it is bound to what was sent then, the words that had the model go on included.
import { afterAll, describe, expect, it } from "@jest/globals";
import { answerMessage } from "../../../shared/core/task/history.ts";
import { asking, closeAll, result, user } from "../../support/wire/anthropic/asking.ts";
import type { Body, ReplyBlock } from "../../support/wire/anthropic/index.ts";

afterAll(closeAll);

const kinds = (body: Body | undefined): string[] =>
  (body?.messages ?? []).map(({ role, content }) => `${role}: ${content.map(({ type }) => type).join(" ")}`);

describe("a conversation", () => {
  it.each<[string, ReplyBlock[], string[]]>([
    ["its own words", [{ text: "I look. " }], ["assistant: text", "user: text", "assistant: thinking tool_use"]],
    [
      "thinking after them",
      [{ thinking: "First." }, { text: "I look." }, { thinking: "Or not." }],
      ["assistant: thinking text", "user: text", "assistant: thinking tool_use"],
    ],
    ["thinking alone", [{ thinking: "First." }], ["assistant: thinking tool_use"]],
    [
      "words with blanks after a search",
      [{ search: "x", found: "y" }, { text: "It is y. \n" }],
      ["assistant: server_tool_use web_search_tool_result text thinking tool_use"],
    ],
    [
      "thinking after a search",
      [{ search: "x", found: "y" }, { thinking: "So." }],
      ["assistant: server_tool_use web_search_tool_result thinking tool_use"],
    ],
  ])("that was paused after %s keeps what the next thinking was written after", async (_, content, expected) => {
    const options = { tools: [{ type: "web_search_20250305", name: "web_search" }] };
    const { wire, answer } = await asking({
      script: (__, n) =>
        n === 0
          ? { content, stop: "pause_turn" }
          : { content: [{ thinking: `Thought ${n}.` }, { tool: "look", id: `t${n}` }] },
    });
    const paused = (await answer({ options })).content;
    const said = [...paused, ...(await answer({ options, messages: [user("Hi."), answerMessage(paused)] })).content];
    const messages = [user("Hi."), answerMessage(said), user(result("t1"))];
    const { content: third } = await answer({ options, messages });
    await answer({ options, messages: [...messages, answerMessage(third), user(result("t2"))] });
    expect(kinds(wire.ledger[2]?.body)).toEqual(["user: text", ...expected, "user: tool_result"]);
    expect(kinds(wire.ledger[3]?.body).at(-2)).toBe("assistant: thinking tool_use");
  });
});
