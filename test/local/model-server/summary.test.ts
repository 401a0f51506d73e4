import { describe, expect, test } from "@jest/globals";
import { respond } from "../../../local/model-server/respond.ts";
import { partSummaryRequest, summaryRequest } from "../../../shared/core/task/texts.ts";

const tools = [
  { type: "function" as const, function: { name: "calculate", description: "Calculates.", parameters: {} } },
];
const ask = (texts: readonly string[]) =>
  respond({
    model: "rule-based-1",
    tools,
    messages: texts.flatMap((content, i) =>
      i === texts.length - 1
        ? [{ role: "user" as const, content }]
        : [
            { role: "user" as const, content },
            { role: "assistant" as const, content: "I see." },
          ],
    ),
  });

describe("a request for a summary", () => {
  test("is answered with what the user said, word for word, and calls no tool", () => {
    const answer = ask(["Hello, my dog is called Rex.", "What is 12 * 3?", summaryRequest(500)]);
    expect(answer).toMatchObject({
      kind: "text",
      text: "The user said, word for word:\n- Hello, my dog is called Rex.\n- What is 12 * 3?",
    });
  });

  test("of a part keeps the summary before it", () => {
    const answer = ask([partSummaryRequest(2, 2, "The user said, word for word:\n- One.", "User: Two.", 500)]);
    expect(answer).toMatchObject({ text: "The user said, word for word:\n- One.\n- Two." });
  });

  test("what it kept is found later", () => {
    const summary =
      "The earlier part …\nThe user said, word for word:\n- Hello, my dog is called Rex.\n- What is 12 * 3?";
    expect(ask([summary, "How is my dog called?"])).toMatchObject({
      text: 'You said before: "Hello, my dog is called Rex."',
    });
  });
});
