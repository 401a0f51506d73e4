import { afterEach, describe, expect, test } from "@jest/globals";
import { type TestAgent, testAgent } from "toren/testing";

let assistant: TestAgent;
afterEach(() => assistant[Symbol.asyncDispose]());

describe("a conversation", () => {
  test("calculates with its tool, remembers what was said, and goes on where a killed worker left it", async () => {
    assistant = await testAgent("agents/assistant", {
      models: {
        main: ({ text, request }) => {
          if (text.startsWith("What is"))
            return { tools: [{ name: "calculate", args: { expression: "12 * (3 + 4)" } }] };
          if (text.startsWith("How is")) return JSON.stringify(request.messages).includes("Rex") ? "Rex." : "Who?";
          return text;
        },
      },
    });
    const run = await assistant.start("Hello, my dog is called Rex.", { mode: "session" });
    expect(await run.until("parked")).toBe("awaitingInput");
    await run.send("What is 12 * (3 + 4)?");
    expect(await run.until("parked")).toBe("awaitingInput");
    expect((await run.result()).output).toBeNull();
    await run.kill();
    await run.send("How is my dog called?", { close: true });
    expect(await run.until("ended")).toBe("completed");
    expect((await run.result()).output).toBe("Rex.");
    expect(assistant.modelCalls()).toBe(4);
  });
});
