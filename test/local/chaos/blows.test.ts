import { describe, expect, test } from "@jest/globals";
import { begunAgain, type Logged, mayStrike, standing } from "../../../local/chaos/blows.ts";

/** "w0t0 LlmCallStarted s0": a line of the log. */
const log = (...lines: readonly string[]): Logged[] =>
  lines.map((line, seq) => {
    const [stream = "", type = "", stepId = "", toolUseId] = line.split(" ");
    return { stream, seq, type, payload: { stepId, ...(toolUseId === undefined ? {} : { toolUseId, tool: "mail" }) } };
  });

describe("what stands open when a worker dies", () => {
  test("calls without an end, parallel ones each; a new writer's start closes what died with the one before", () => {
    const lines = log(
      "a LlmCallStarted s0",
      "a LlmCallCompleted s0",
      "a ToolCallStarted s0 u1",
      "a ToolCallStarted s0 u2",
      "a ToolCallCompleted s0 u1",
      "b LlmCallStarted s0",
      "run StepStarted",
    );
    expect([...standing(lines, []).open.values()]).toEqual(["a", "b", "run"]);
    expect([...standing([...lines, ...log("a TaskStarted")], []).open.values()]).toEqual(["b", "run"]);
  });

  test("hits are counted from the last thing recorded on", () => {
    const lines = log("a LlmCallStarted s0", "a TaskStarted", "a LlmCallStarted s0", "a LlmCallCompleted s0");
    expect(standing(lines, [1, 3]).hits).toEqual(new Map());
    expect(standing(lines.slice(0, 3), [1, 3]).hits).toEqual(new Map([["a", 2]]));
    expect(standing(lines, [1, 3, 4]).hits).toEqual(new Map());
  });
});

describe("when to strike", () => {
  test("not before the worker has added so many events", () => {
    const lines = log("a TaskStarted", "a LlmCallStarted s0");
    expect(mayStrike(lines, [], 2)).toBe(true);
    expect(mayStrike(lines, [], 3)).toBe(false);
    expect(mayStrike(lines, [1], 2)).toBe(false);
  });

  test("a task that was hit twice and recorded nothing since is spared", () => {
    const twice = log(
      "a LlmCallStarted s0",
      "a TaskStarted",
      "a LlmCallStarted s0",
      "a TaskStarted",
      "a LlmCallStarted s0",
    );
    expect(mayStrike(twice, [1, 3], 1)).toBe(false);
    const ahead = [...twice, ...log("a LlmCallCompleted s0", "a LlmCallStarted s1")];
    expect(mayStrike(ahead, [1, 3], 1)).toBe(true);
    expect(mayStrike([...twice.slice(0, 4), ...log("b LlmCallStarted s0")], [1, 3], 1)).toBe(true); // another one is at work
  });
});

test("tools that had begun twice are told apart by what a second time means", () => {
  const begun = (toolUseId: string, tool: string, effects: string, idempotency: string): Logged => ({
    stream: "a",
    seq: 0,
    type: "ToolCallStarted",
    payload: { stepId: "s0", toolUseId, tool, effects, idempotency },
  });
  const mail = begun("u1", "mail", "external", "none");
  const charge = begun("u2", "charge", "external", "keyed");
  expect(begunAgain([mail, charge, begun("u3", "look", "none", "none")])).toEqual([]);
  expect(begunAgain([mail, charge, mail, charge, charge])).toEqual([
    { tool: "mail", keyed: false, external: true, times: 1 },
    { tool: "charge", keyed: true, external: true, times: 2 },
  ]);
});
