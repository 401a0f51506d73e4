// What a task does next, and where it ends: caps, cut and refused answers, pauses, corrections.
import { describe, expect, test } from "@jest/globals";
import { PAUSES_MAX } from "../../../shared/core/limits.ts";
import type { AssistantPart, ModelResponse, StopReason, Usage } from "../../../shared/core/messages.ts";
import { NO_BUDGET } from "../../../shared/core/task/ledger.ts";
import { type Action, type Caps, nextAction } from "../../../shared/core/task/loop.ts";
import { outputCheck } from "../../../shared/core/task/output.ts";
import { begin, CAPS, started, type Task, tapeOf, task, turn, usage, type Writer } from "./driver.ts";

const schema = { type: "object", required: ["n"] };
const checked: Task = { ...task, check: outputCheck(schema), role: { ...task.role, outputSchema: schema } };

const saying = (text: string, stopReason: StopReason = "end", spent: Usage = usage): ModelResponse => ({
  content: text === "" ? [] : [{ type: "text", text }],
  stopReason,
  usage: spent,
});
const calling = (stopReason: StopReason = "toolUse", ...ids: string[]): ModelResponse => ({
  content: ids.map((id): AssistantPart => ({ type: "toolUse", id, name: "look", args: {} })),
  stopReason,
  usage,
});

function after(of: Task, ...answers: ModelResponse[]): Writer {
  const writer = begin(of);
  started(writer);
  for (const answer of answers) {
    turn(writer, of.caps, tapeOf([]), () => answer);
    if (writer.state.phase.type === "tools" && answer !== answers.at(-1)) turn(writer, of.caps, tapeOf([]));
  }
  return writer;
}
const next = (of: Task, ...answers: ModelResponse[]): Action => nextAction(after(of, ...answers).state, of.caps);
const capped = (caps: Partial<Caps>, of: Task = task): Task => ({ ...of, caps: { ...CAPS, ...caps } });

describe("a task without tools", () => {
  test("asks, and its answer is the result", () => {
    expect(next(task)).toMatchObject({ type: "ask", stepId: "s0", request: { model: "mock/script", maxTokens: 100 } });
    expect(next(task, saying("Done."))).toEqual({ type: "complete", result: "Done.", truncated: false });
  });

  test("max tokens in plain text: the output is marked as truncated", () => {
    expect(next(task, saying("Half an ans", "maxTokens"))).toEqual({
      type: "complete",
      result: "Half an ans",
      truncated: true,
    });
  });

  test("nothing but thinking within max tokens is output_exhausted", () => {
    const thinking: ModelResponse = {
      content: [
        { type: "opaque", provider: "p", data: "…" },
        { type: "text", text: " " },
      ],
      stopReason: "maxTokens",
      usage,
    };
    expect(next(task, thinking)).toMatchObject({ type: "fail", error: { code: "output_exhausted" } });
    expect(next(task, saying("", "maxTokens"))).toMatchObject({ type: "fail", error: { code: "output_exhausted" } });
  });

  test("a refusal fails, in the model's words where it has any; its calls aren't run", () => {
    expect(next(task, saying("No.", "refusal"))).toMatchObject({
      type: "fail",
      error: { code: "model.refused", message: "The model refused: No." },
    });
    expect(next(task, calling("refusal", "a"))).toMatchObject({ type: "fail", error: { code: "model.refused" } });
  });

  test("a full context window fails with its own code", () => {
    expect(next(task, saying("", "contextExceeded"))).toMatchObject({ error: { code: "context_exceeded" } });
  });
});

describe("tools", () => {
  test("only calls without a result are to run, under the step that was answered", () => {
    const writer = after(task, calling("toolUse", "a", "b"));
    expect(nextAction(writer.state, CAPS)).toMatchObject({
      type: "tools",
      stepId: "s0",
      calls: [{ use: { id: "a" } }, { use: { id: "b" } }],
    });
    const done = { type: "ToolCallCompleted", stepId: "s0", result: "r", isError: false } as const;
    writer.record({ ...done, toolUseId: "a" });
    expect(nextAction(writer.state, CAPS)).toMatchObject({ type: "tools", calls: [{ use: { id: "b" } }] });
    writer.record({ ...done, toolUseId: "b" });
    expect(nextAction(writer.state, CAPS)).toMatchObject({ type: "ask", stepId: "s1" });
  });

  test("the last call of an answer that ended at its token limit is cut; the ones before it are whole", () => {
    const action = next(task, calling("maxTokens", "a", "b"));
    expect(action.type === "tools" && action.calls.map((c) => c.cut)).toEqual([false, true]);
  });

  test("beside `end` or `pause`, calls run all the same", () => {
    expect(next(task, calling("end", "a")).type).toBe("tools");
    expect(next(task, calling("pause", "a")).type).toBe("tools");
  });
});

describe("pauses", () => {
  const pause = saying("One moment.", "pause");

  test("are asked again as they are, so often in a row and no more", () => {
    expect(next(task, ...Array(PAUSES_MAX).fill(pause))).toMatchObject({ type: "ask", stepId: `s${PAUSES_MAX}` });
    expect(next(task, ...Array(PAUSES_MAX + 1).fill(pause))).toMatchObject({
      type: "fail",
      error: { code: "model.paused_too_often" },
    });
  });

  test("with something else between them aren't in a row", () => {
    const rows = Array(PAUSES_MAX).fill(pause);
    expect(next(task, ...rows, calling("toolUse", "a"), ...rows).type).toBe("ask");
  });

  test("an empty one changes no message", () => {
    const [before, now] = [next(task), next(task, saying("", "pause"))];
    expect(now.type === "ask" && before.type === "ask" && now.digest === before.digest).toBe(true);
  });
});

describe("an output schema", () => {
  test("a valid answer is the result, as a value", () => {
    expect(next(checked, saying('```json\n{"n":1}\n```'))).toEqual({
      type: "complete",
      result: { n: 1 },
      truncated: false,
    });
  });

  test("a wrong one gets feedback and another try, within maxSteps", () => {
    const again = next(checked, saying("{}"));
    expect(again.type === "ask" && again.request.messages.at(-1)).toEqual({
      role: "user",
      content: [
        {
          type: "text",
          text: 'Your last answer could not be used:\n- the value lacks "n"\nReply with the corrected final answer only.',
        },
      ],
    });
    const twice = capped({ maxSteps: 2 }, checked);
    expect(next(twice, saying("{}")).type).toBe("ask");
    expect(next(twice, saying("{}"), saying("{}"))).toMatchObject({ type: "fail", error: { code: "max_steps" } });
    expect(next(twice, saying("{}"), saying('{"n":1}')).type).toBe("complete");
  });

  test("an empty answer gets feedback too, in the user's one message", () => {
    const again = next(checked, saying(""));
    expect(again.type === "ask" && again.request.messages).toHaveLength(1);
    expect(again.type === "ask" && again.digest).not.toBe((next(checked) as { digest: string }).digest);
  });

  test("what is cut at max tokens is refused where it isn't valid, and marked where it is", () => {
    expect(next(checked, saying('{"n":', "maxTokens")).type).toBe("ask");
    expect(next(checked, saying('{"n":1}', "maxTokens"))).toMatchObject({ type: "complete", truncated: true });
  });
});

describe("caps", () => {
  test("maxSteps counts answers, whatever they were", () => {
    expect(next(capped({ maxSteps: 1 }), saying("…", "pause"))).toMatchObject({
      type: "fail",
      error: { code: "max_steps" },
    });
    expect(next(capped({ maxSteps: 2 }), calling("toolUse", "a")).type).toBe("tools");
    expect(next(capped({ maxSteps: 2 }), calling("toolUse", "a"), calling("toolUse", "b")).type).toBe("tools");
    expect(next(capped({ maxSteps: 1 }), saying("Done.")).type).toBe("complete");
  });

  const spending = (input: number, output: number): ModelResponse =>
    saying("…", "pause", { input, cacheRead: 1, cacheWrite: 2, output, reasoning: output });

  test("totalTokens: what is spent, the request's estimate and maxTokens must fit; reasoning counts once", () => {
    const { state } = after(task, spending(500, 97));
    const fits = (totalTokens: number) => nextAction(state, { ...CAPS, budget: { ...NO_BUDGET, totalTokens } }).type;
    let least = 0;
    for (let cap = 1; least === 0; cap++) if (fits(cap) === "ask") least = cap;
    expect(least).toBe(600 + 600 + 100); // spent; the same again as input, as the provider counted it; the answer
    expect(nextAction(state, { ...CAPS, budget: { ...NO_BUDGET, totalTokens: least - 1 } })).toMatchObject({
      type: "fail",
      error: { code: "budget_exhausted", message: expect.stringContaining("600 tokens are spent") },
    });
  });

  test("an answer that the provider makes already is fetched, though another call of its size would be one too many", () => {
    const of = capped({ budget: { ...NO_BUDGET, totalTokens: 300 } });
    const writer = begin(of);
    started(writer);
    const ask = nextAction(writer.state, of.caps);
    if (ask.type !== "ask" || ask.reserve === null) throw new Error("no reservation");
    const { stepId, digest, reserve } = ask;
    writer.record({
      type: "LlmCallStarted",
      stepId,
      requestDigest: digest,
      model: "m",
      purpose: "step",
      reserve: { tokens: reserve.tokens },
    });
    expect(nextAction(writer.state, of.caps)).toMatchObject({ type: "fail", error: { code: "budget_exhausted" } });
    writer.record({ type: "LlmCallAccepted", stepId, ref: "resp_1" });
    expect(nextAction(writer.state, of.caps)).toEqual(ask);
  });

  test("totalTokens null: no cap", () => {
    expect(next(task, spending(1e12, 1e12)).type).toBe("ask");
  });

  test("an answer that is final isn't lost to a cap", () => {
    const spent = saying("Done.", "end", { ...usage, output: 1e9 });
    expect(next(capped({ budget: { ...NO_BUDGET, totalTokens: 10_000 } }), spent).type).toBe("complete");
  });
});

test("a task that ended does nothing", () => {
  const writer = after(task, saying("Done."));
  turn(writer, CAPS, tapeOf([]));
  expect(writer.raw.at(-1)?.type).toBe("TaskCompleted");
  expect(nextAction(writer.state, CAPS)).toEqual({ type: "ended" });
});
