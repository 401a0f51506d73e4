import { afterEach, describe, expect, test } from "@jest/globals";
import { type TestAgent, type TestAgentOptions, testAgent } from "toren/testing";

let crew: TestAgent;
const open = async (models: NonNullable<TestAgentOptions["models"]>): Promise<TestAgent> => {
  crew = await testAgent("agents/research_crew", { models });
  return crew;
};
afterEach(() => crew[Symbol.asyncDispose]());

const plan = (...topics: string[]): string => JSON.stringify({ topics });
const files = { "wal.txt": "The log is written first.\nThen the pages follow." };

describe("the crew", () => {
  test("plans, researches the topics in parallel in the files, and writes from the notes", async () => {
    const arrived: string[] = [];
    const both = Promise.withResolvers<void>();
    await open({
      planner: [plan("what is written first", "what follows")],
      researcher: async ({ text, request }) => {
        if (request.messages.length > 1) return `notes from: ${text}`;
        arrived.push(text);
        if (arrived.length === 2) both.resolve();
        await both.promise; // neither is answered before the other has asked
        return { tools: [{ name: "search_files", args: { query: text.includes("first") ? "first" : "follow" } }] };
      },
      writer: ({ text }) => text,
    });
    const run = await crew.start("How is data kept?", { files });
    expect(await run.until("ended")).toBe("completed");
    const { output } = await run.result();
    expect(output).toContain("The log is written first.");
    expect(output).toContain("Then the pages follow.");
    expect(["planner", "researcher", "writer"].map((role) => crew.modelCalls(role))).toEqual([1, 4, 1]);
  });

  test("survives a kill while it writes, and no recorded call is paid twice", async () => {
    const writing = Promise.withResolvers<void>();
    await open({
      planner: [plan("a", "b", "c")],
      researcher: ({ text }) => `notes on ${text}`,
      writer: ({ n, text }) => {
        if (n > 0) return text;
        writing.resolve();
        return new Promise(() => {}); // the answer that the dead worker never gets
      },
    });
    const run = await crew.start("How is data kept?");
    await writing.promise;
    await run.kill();
    expect(await run.until("ended")).toBe("completed");
    expect((await run.result()).output).toContain("notes on c");
    expect(["planner", "researcher", "writer"].map((role) => crew.modelCalls(role))).toEqual([1, 3, 2]);
  });

  test("one topic that fails doesn't sink the others", async () => {
    await open({
      planner: [plan("good", "bad")],
      researcher: ({ text }) => (text.includes("bad") ? { refusal: true } : "good notes"),
      writer: ({ text }) => text,
    });
    const run = await crew.start("x");
    expect(await run.until("ended")).toBe("completed");
    expect((await run.result()).output).toMatch(/good notes.*could not be researched/);
  });

  test("several questions are runs of their own: a kill while they work costs nothing, and one that fails sinks no other", async () => {
    const writing = Promise.withResolvers<void>();
    await open({
      planner: ({ text }) => plan(`about ${text}`),
      researcher: ({ text }) => (text.includes("bad") ? { refusal: true } : `notes ${text}`),
      writer: ({ n, text }) => {
        if (n > 1) return text;
        if (n === 1) writing.resolve(); // of both that will be written the questions are out
        return new Promise(() => {});
      },
    });
    const run = await crew.start("one\nbad\ntwo", { process: "several" });
    await writing.promise;
    await run.kill();
    expect(await run.until("ended")).toBe("completed");
    const answers = (await run.result()).output as { question: string; answer: string }[];
    expect(answers.map((a) => a.question)).toEqual(["one", "bad", "two"]);
    expect(answers[0]?.answer).toContain("notes about one");
    expect(answers[1]?.answer).toBe("No answer: workflow.threw");
    expect(answers[2]?.answer).toContain("notes about two");
    expect(["planner", "writer"].map((role) => crew.modelCalls(role))).toEqual([3, 4]); // what was in flight was asked again
    expect(crew.modelCalls("researcher")).toBeLessThanOrEqual(4); // the bad one's may have been in flight, too
  });
});
