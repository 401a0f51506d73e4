// The digest chain (I6): a step costs what is new in it, and a cut names what changed.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { chain } from "../../../shared/core/digest.ts";
import type { Json } from "../../../shared/core/json.ts";
import type { AssistantPart, Message, UserPart } from "../../../shared/core/messages.ts";
import {
  append,
  changedParts,
  emptyHistory,
  type History,
  headerOf,
  linkOf,
  type RoleText,
  requestOf,
} from "../../../shared/core/task/header.ts";
import { json, text } from "../arbitraries.ts";
import { role } from "./driver.ts";

const header = headerOf(role);
const textPart = text.map((value) => ({ type: "text" as const, text: value }));
const result = fc
  .tuple(text, text)
  .map(([toolUseId, value]): UserPart => ({ type: "toolResult", toolUseId, text: value, isError: false }));
const use = fc.tuple(text, text, json).map(([id, name, args]): AssistantPart => ({ type: "toolUse", id, name, args }));
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.array(fc.oneof(textPart, result), { maxLength: 3 }).map((content): Message => ({ role: "user", content })),
  fc.array(fc.oneof(textPart, use), { maxLength: 3 }).map((content): Message => ({ role: "assistant", content })),
);
const appended = (messages: readonly Message[]): History => {
  const history: History = emptyHistory();
  for (const one of messages) append(header, history, one);
  return history;
};

describe("append", () => {
  test("chains message by message, recomputed from the first rewritten one: equal to the chain over what is sent", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), (messages) => {
        const history = appended(messages);
        let link = header.digest;
        const links = history.messages.map((one) => {
          link = chain(link, one as unknown as Json);
          return link;
        });
        expect(history.links).toEqual(links);
        expect(linkOf(header, history)).toBe(link);
      }),
    );
  });

  test("never leaves two messages of one role in a row, nor an empty one, and loses no part", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), (messages) => {
        const history = appended(messages);
        for (const [i, one] of history.messages.entries()) {
          expect(one.content.length).toBeGreaterThan(0);
          expect(history.messages[i - 1]?.role).not.toBe(one.role);
        }
        expect(history.messages.flatMap<unknown>((one) => one.content)).toEqual(
          messages.flatMap<unknown>((one) => one.content),
        );
      }),
    );
  });

  test("doesn't change a message that was sent before", () => {
    const first: Message = { role: "user", content: [{ type: "text", text: "a" }] };
    const history = appended([first]);
    const sent = [...history.messages];
    append(header, history, { role: "user", content: [{ type: "text", text: "b" }] });
    expect(sent).toEqual([{ role: "user", content: [{ type: "text", text: "a" }] }]);
    expect(history.messages).toHaveLength(1);
  });

  test("the same messages in another order, or split elsewhere, are another question", () => {
    const user = (...texts: string[]): Message => ({
      role: "user",
      content: texts.map((value) => ({ type: "text", text: value })),
    });
    const digests = [[user("a", "b")], [user("b", "a")], [user("ab")], [user("a", "", "b")]].map(
      (messages) => appended(messages).links[0],
    );
    expect(new Set(digests).size).toBe(4);
    expect(appended([user("a"), user("b")]).links).toEqual(appended([user("a", "b")]).links);
  });
});

describe("headerOf", () => {
  const other = (change: Partial<RoleText>) => headerOf({ ...role, ...change });

  test.each<[Partial<RoleText>, string[]]>([
    [{ model: "mock/other" }, ["model"]],
    [{ system: "Else." }, ["system"]],
    [{ outputSchema: { type: "object" } }, ["system"]],
    [{ tools: [] }, ["tools"]],
    [{ tools: role.tools.map((t) => ({ ...t, description: `${t.description}!` })) }, ["tools"]],
    [{ tools: role.tools.map((t) => ({ ...t, inputSchema: { type: "object", required: ["q"] } })) }, ["tools"]],
    [{ options: { temperature: 0, top_p: 1 } }, ["options"]],
    [{ maxTokens: 1 }, ["maxTokens"]],
    [{ maxTokens: 1, model: "mock/other" }, ["model", "maxTokens"]],
  ])("%j is another header, and the part is named", (change, parts) => {
    expect(other(change).digest).not.toBe(header.digest);
    expect(changedParts(header.parts, other(change).parts)).toEqual(parts);
  });

  test("what a tool's author keeps to himself isn't in it", () => {
    const tools = role.tools.map((t) => ({ ...t, timeoutMs: 1, handler: () => 1 }));
    expect(other({ tools }).digest).toBe(header.digest);
    expect(other({ tools }).tools).toEqual(role.tools);
  });

  test("a part that the log doesn't know yet counts as changed", () => {
    expect(changedParts({ model: header.parts.model as string }, header.parts)).toEqual([
      "system",
      "tools",
      "options",
      "maxTokens",
    ]);
  });

  test("c2: texts of tools go out well-formed", () => {
    const tools = [{ name: "t", description: "\uD83D", inputSchema: { description: "\uDE00" } }];
    expect(other({ tools }).tools).toEqual([
      { name: "t", description: "\uFFFD", inputSchema: { description: "\uFFFD" } },
    ]);
  });
});

describe("requestOf", () => {
  test("carries the tools whenever history holds tool blocks, and the schema only where there is one", () => {
    const request = requestOf(header, appended([]));
    expect(request).toEqual({ ...role, messages: [], outputSchema: undefined });
    expect("outputSchema" in request).toBe(false);
    const schema = { type: "object" };
    expect(requestOf(headerOf({ ...role, outputSchema: schema }), appended([])).outputSchema).toEqual(schema);
  });
});
