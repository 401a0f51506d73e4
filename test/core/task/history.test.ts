// History is always legal, whatever a model answered and tools gave back (c2, c4, c7).
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { AssistantPart, Message, ModelResponse } from "../../../shared/core/messages.ts";
import {
  answerMessage,
  answerText,
  feedbackMessage,
  inputMessage,
  normalise,
  resultsMessage,
  textOf,
  toolUses,
} from "../../../shared/core/task/history.ts";
import { nextAction } from "../../../shared/core/task/loop.ts";
import { outputCheck } from "../../../shared/core/task/output.ts";
import { replay } from "../../../shared/core/task/replay.ts";
import { apply } from "../../../shared/core/task/state.ts";
import { begin, illegal, started, type Task, tapeOf, task, turn, usage } from "./driver.ts";

const tape = fc.array(fc.nat(10_000), { maxLength: 300, minLength: 30 });
const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
const checked: Task = { ...task, check: outputCheck(schema), role: { ...task.role, outputSchema: schema } };

const answer = (content: readonly AssistantPart[]): ModelResponse => ({
  content: [...content],
  stopReason: "toolUse",
  usage,
});
const use = (id: string, name = "look"): AssistantPart => ({ type: "toolUse", id, name, args: {} });
const ids = (response: ModelResponse): string[] => toolUses(response.content).map((u) => u.id);

describe("what a model is sent", () => {
  test.each([
    ["free text", task],
    ["an output schema with feedback", checked],
  ])("is legal at every step of every task: %s", (_, of) => {
    let requests = 0;
    fc.assert(
      fc.property(tape, (numbers) => {
        const fate = tapeOf(numbers);
        const writer = begin(of);
        started(writer);
        for (let n = 0; n < 40 && !fate.over; n++) {
          const action = nextAction(writer.state, of.caps);
          if (action.type === "ask") {
            requests++;
            expect(illegal(action.request.messages)).toEqual([]);
          }
          if (!turn(writer, of.caps, fate)) break;
        }
      }),
      { numRuns: 300 },
    );
    expect(requests).toBeGreaterThan(900);
  });

  test("an illegal one would be seen: the checker finds what it looks for", () => {
    const bad: Message[] = [
      { role: "assistant", content: [] },
      { role: "assistant", content: [{ type: "text", text: " " }, use("a b", "c d")] },
      { role: "user", content: [{ type: "text", text: "\uD83D" }] },
    ];
    expect(illegal(bad)).toHaveLength(8);
  });

  test("c7: an empty text beside calls is dropped; an answer of nothing is no message", () => {
    const { content } = answerMessage([{ type: "text", text: " \n" }, use("a")]);
    expect(content).toEqual([use("a")]);
    expect(answerMessage([{ type: "text", text: "" }]).content).toEqual([]);
  });

  test("c7: an empty result or input gets a text", () => {
    expect(resultsMessage([{ toolUseId: "a", result: "", isError: true }]).content).toEqual([
      { type: "toolResult", toolUseId: "a", text: "(no output)", isError: true },
    ]);
    expect(inputMessage(" ").content).toEqual([{ type: "text", text: "(no input)" }]);
  });

  test("c2: text that was cut through an emoji goes out well-formed, keys of arguments too", () => {
    expect(textOf("cut \uD83D")).toBe("cut \uFFFD");
    expect(feedbackMessage('must not have "\uD83D"').content).toEqual([
      { type: "text", text: 'must not have "\uFFFD"' },
    ]);
    const [part] = answerMessage([{ type: "toolUse", id: "a", name: "look", args: { "\uD83D": ["\uDE00"] } }]).content;
    expect(part).toMatchObject({ args: { "\uFFFD": ["\uFFFD"] } });
  });

  test("c2: a log that holds a lone surrogate resumes, and asks the same", () => {
    const writer = begin(task);
    started(writer);
    const fate = tapeOf([]);
    turn(writer, task.caps, fate, () => answer([{ type: "text", text: "look \uD83D" }, use("a")]));
    turn(writer, task.caps, fate);
    turn(writer, task.caps, fate, () => answer([use("b")]));
    const replayed = replay(writer.header, null, task.input, writer.raw);
    expect(replayed.type).toBe("ok");
  });

  test("a name that no provider takes goes out as one it takes; the log keeps it", () => {
    const names = ["se arch", "", "ünknown", "a".repeat(70)].map((name) => ({ ...use("a"), name }) as AssistantPart);
    expect(answerMessage(names).content.map((p) => p.type === "toolUse" && p.name)).toEqual([
      "se_arch",
      "unnamed",
      "_nknown",
      "a".repeat(64),
    ]);
    expect(toolUses(normalise(answer(names), new Set()).content).map((u) => u.name)[0]).toBe("se arch");
  });

  test("arguments that are no object go out as an empty one", () => {
    for (const args of [null, "x", 1, [1]])
      expect(answerMessage([{ type: "toolUse", id: "a", name: "look", args }]).content).toMatchObject([{ args: {} }]);
  });

  test("reasoning stays string-identical", () => {
    const part: AssistantPart = { type: "opaque", provider: "p", data: { signature: "\uD83D \u0000" } };
    expect(answerMessage([part]).content[0]).toBe(part);
  });

  test("anything but text is canonical JSON", () => {
    expect(textOf({ b: 1, a: [null] })).toBe('{"a":[null],"b":1}');
    expect(textOf(null)).toBe("null");
  });

  test("the text of an answer is all of its text parts", () => {
    expect(answerText([{ type: "text", text: "a" }, use("x"), { type: "text", text: "b" }])).toBe("ab");
  });
});

describe("normalise", () => {
  test("c4: equal ids in one answer become different ones; fine ones stay", () => {
    expect(ids(normalise(answer([use("a"), use("a"), use("b"), use("a")]), new Set()))).toEqual([
      "a",
      "a_2",
      "b",
      "a_3",
    ]);
  });

  test("c4: an id of an earlier answer isn't used again, and the given set isn't changed", () => {
    const used = new Set(["a", "a_2"]);
    expect(ids(normalise(answer([use("a"), use("a_3")]), used))).toEqual(["a_3", "a_3_2"]);
    expect([...used]).toEqual(["a", "a_2"]);
  });

  test("looks ids up and never walks through them: a step of a long task costs what is new in it", () => {
    class LookedUp extends Set<string> {
      override [Symbol.iterator](): never {
        throw new Error("walked");
      }
    }
    const used = new LookedUp();
    used.add("a");
    expect(ids(normalise(answer([use("a"), use("b")]), used))).toEqual(["a_2", "b"]);
  });

  test("c4: both calls run once, and both results reach the model in call order", () => {
    const writer = begin(task);
    started(writer);
    const pay = (cents: number): AssistantPart => ({ type: "toolUse", id: "same", name: "pay", args: { cents } });
    turn(writer, task.caps, tapeOf([]), () => answer([pay(1), pay(2)]));
    turn(writer, task.caps, tapeOf([1])); // the second ends first
    expect(writer.raw.filter((e) => e.type === "ToolCallStarted").map((e) => e.toolUseId)).toEqual(["same", "same_2"]);
    expect(writer.raw.filter((e) => e.type === "ToolCallCompleted").map((e) => e.toolUseId)).toEqual([
      "same_2",
      "same",
    ]);
    expect(writer.state.history.messages.at(-1)?.content).toMatchObject([
      { toolUseId: "same" },
      { toolUseId: "same_2" },
    ]);
  });

  test("ids are unique and legal for any answers in a row, and a response without calls is left as it is", () => {
    const id = fc.oneof(fc.string({ maxLength: 70 }), fc.constantFrom("", "a", "a_2", "x".repeat(64), "x".repeat(65)));
    fc.assert(
      fc.property(fc.array(fc.array(id, { maxLength: 5 }), { maxLength: 5 }), (answers) => {
        const used = new Set<string>();
        for (const wanted of answers) {
          const got = ids(normalise(answer(wanted.map((one) => use(one))), used));
          expect(got).toHaveLength(wanted.length);
          for (const one of got) {
            expect(one).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
            expect(used.has(one)).toBe(false);
            used.add(one);
          }
        }
      }),
    );
    const plain = answer([{ type: "text", text: "x" }]);
    expect(normalise(plain, new Set())).toEqual(plain);
  });

  test("a second completion of a call changes nothing", () => {
    const writer = begin(task);
    started(writer);
    turn(writer, task.caps, tapeOf([]), () => answer([use("a"), use("b")]));
    const event = { type: "ToolCallCompleted", stepId: "s0", toolUseId: "a", isError: false } as const;
    apply(writer.state, { ...event, result: "first" }, 0);
    apply(writer.state, { ...event, result: "second" }, 0);
    apply(writer.state, { ...event, toolUseId: "b", result: "b" }, 0);
    expect(writer.state.history.messages.at(-1)?.content).toMatchObject([{ text: "first" }, { text: "b" }]);
  });
});
