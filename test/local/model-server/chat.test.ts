import { describe, expect, test } from "@jest/globals";
import { readRequest } from "../../../local/model-server/chat.ts";
import type { Json } from "../../../local/model-server/json.ts";

const ask = { role: "user", content: "Hello" };
const call = (...ids: string[]) => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } })),
});
const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "ok" });

function failureOf(body: Json) {
  const read = readRequest(body);
  return read.ok ? undefined : { status: read.failure.status, ...read.failure.error };
}

describe("a request is checked as strictly as OpenAI does", () => {
  test("calls answered in any order, directly after, are accepted", () => {
    const messages = [ask, call("a", "b"), result("b"), result("a"), call("c"), result("c")];
    expect(failureOf({ model: "m", messages })).toBeUndefined();
  });

  test.each<[string, Json[]]>([
    ["no messages", []],
    ["an unknown role", [{ role: "robot", content: "Hello" }]],
    ["an empty user text", [{ role: "user", content: "" }]],
    ["an empty text part", [{ role: "user", content: [{ type: "text", text: "" }] }]],
    ["no parts", [{ role: "user", content: [] }]],
    ["an empty tool result", [ask, call("a"), { ...result("a"), content: "" }]],
    ["an assistant message that says and calls nothing", [ask, { role: "assistant", content: null }]],
    ["a tool message that answers no call", [ask, result("a")]],
    ["a call answered twice", [ask, call("a"), result("a"), result("a")]],
    ["a call that nobody answers", [ask, call("a", "b"), result("a")]],
    ["a message between a call and its answer", [ask, call("a"), ask, result("a")]],
    ["two calls with one id", [ask, call("a", "a"), result("a")]],
  ])("%s is a 400 in OpenAI's shape", (_name, messages) => {
    const failure = failureOf({ model: "m", messages });
    expect(failure).toEqual({
      status: 400,
      message: expect.any(String),
      type: "invalid_request_error",
      code: failure?.code ?? null,
      param: expect.stringMatching(/^messages/),
    });
  });

  test("the error names the place", () => {
    expect(failureOf({ model: "m", messages: [ask, ask, { role: "user", content: "" }] })?.param).toBe(
      "messages[2].content",
    );
    expect(failureOf({ messages: [ask] })?.param).toBe("model");
  });

  test("tool names outside [a-zA-Z0-9_-] and more than one choice are refused", () => {
    const tools = [{ type: "function", function: { name: "mcp.search" } }];
    expect(failureOf({ model: "m", messages: [ask], tools })?.param).toBe("tools[0].function.name");
    expect(failureOf({ model: "m", messages: [ask], n: 2 })?.param).toBe("n");
  });
});
