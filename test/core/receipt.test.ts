// The books of a run: what was used, what it cost, what a resume didn't pay again (I5).
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { costOf, type Rates } from "../../shared/core/cost.ts";
import type { RawEvent } from "../../shared/core/events.ts";
import type { Usage } from "../../shared/core/messages.ts";
import { accountsOf, addAccounts, totalAccounts } from "../../shared/core/receipt.ts";

const RATES: Rates = { input: 2.5, cacheRead: 0.25, cacheWrite: 3, output: 10, simulated: false };
const spent: Usage = { input: 1_000, cacheRead: 2_000, cacheWrite: 500, output: 300, reasoning: 200 };
/** (1000 × 2.5 + 2000 × 0.25 + 500 × 3 + 300 × 10) / 1,000,000: reasoning is a part of output. */
const COST = 0.0075;

/** A log from short words: `start`, `ask`, `answer`, `failed`, `cut:<seq>`, `done`. */
function log(words: string, model = "openai/known"): RawEvent[] {
  let step = 0;
  return words.split(" ").map((word, i) => {
    const [what = "", argument = ""] = word.split(":");
    const event = (type: string, payload = {}): RawEvent => ({ seq: i + 1, recordedAt: 0, type, payload });
    switch (what) {
      case "start":
        return event("TaskStarted");
      case "ask":
        return event("LlmCallStarted", {
          stepId: `s${argument || step}`,
          requestDigest: `d${argument || step}`,
          model,
        });
      case "answer":
        step++;
        return event("LlmCallCompleted", {
          stepId: "as asked",
          usage: spent,
          ...(model === "openai/unknown"
            ? {}
            : { cost: { usd: costOf(spent, RATES), simulated: model.startsWith("mock/") } }),
        });
      case "failed":
        return event("LlmCallFailed");
      case "broke": // after the provider had counted
        return event("LlmCallFailed", {
          usage: spent,
          ...(model === "openai/unknown" ? {} : { cost: { usd: costOf(spent, RATES), simulated: false } }),
        });
      case "cut":
        return event("StreamInvalidated", { fromSeq: Number(argument) });
      case "shown":
        return event("InputRequested");
      case "wait":
        return event("CutRequested", { fromSeq: Number(argument) });
      case "done":
        return event("TaskCompleted");
      case "cancelled":
        return event("TaskCancelled");
      default:
        throw new Error(what);
    }
  });
}
const receipt = (words: string, model?: string) => accountsOf(log(words, model)).receipt;

describe("usage and cost", () => {
  test("are the sum over answers, to the cent", () => {
    const accounts = accountsOf(log("start ask answer ask answer ask answer done"));
    expect(accounts.usage).toEqual({ input: 3_000, cacheRead: 6_000, cacheWrite: 1_500, output: 900, reasoning: 600 });
    expect(accounts.costUsd).toBeCloseTo(3 * COST, 12);
    expect(accounts.simulated).toBe(false);
    expect(accounts.receipt).toEqual({
      modelCalls: 3,
      replayed: 0,
      repaid: 0,
      unanswered: 0,
      savedTokens: 0,
      savedUsd: 0,
    });
  });

  test("an unknown price is null, never 0, and stays null in every sum", () => {
    const unknown = accountsOf(log("start ask answer", "openai/unknown"));
    expect(unknown.costUsd).toBeNull();
    expect(unknown.usage).toEqual(spent);
    expect(addAccounts(unknown, accountsOf(log("start ask answer"))).costUsd).toBeNull();
    expect(totalAccounts([unknown, unknown]).costUsd).toBeNull();
    expect(accountsOf(log("start ask answer start", "openai/unknown")).receipt.savedUsd).toBeNull();
  });

  test("a model that was never answered costs nothing, whatever its price", () => {
    expect(accountsOf(log("start ask failed", "openai/unknown")).costUsd).toBe(0);
    expect(totalAccounts([]).costUsd).toBe(0);
  });

  test("of a call that failed after its provider had counted are in the books, and it is no answer", () => {
    const accounts = accountsOf(log("start ask broke ask broke ask answer start ask failed"));
    expect(accounts.usage).toEqual({ input: 3_000, cacheRead: 6_000, cacheWrite: 1_500, output: 900, reasoning: 600 });
    expect(accounts.costUsd).toBeCloseTo(3 * COST, 12);
    expect(accounts.receipt).toMatchObject({
      modelCalls: 1,
      unanswered: 3,
      replayed: 1,
      savedTokens: 3_800,
      repaid: 0,
    });
    expect(accountsOf(log("start ask broke", "openai/unknown"))).toMatchObject({ usage: spent, costUsd: null });
    expect(accountsOf(log("start ask broke ask answer start ask broke"), 5).usage).toEqual(spent); // a fork pays for its own alone
  });

  test("made-up prices are marked, in sums too", () => {
    const mock = accountsOf(log("start ask answer", "mock/script"));
    expect(mock.simulated).toBe(true);
    expect(addAccounts(mock, accountsOf(log("start ask answer"))).simulated).toBe(true);
  });
});

describe("the receipt", () => {
  test("I5: answers before a take-over are replayed, and what they would have cost is saved", () => {
    const { replayed, repaid, savedTokens, savedUsd, modelCalls } = receipt(
      "start ask answer ask answer start ask answer",
    );
    expect({ replayed, repaid, savedTokens, modelCalls }).toEqual({
      replayed: 2,
      repaid: 0,
      savedTokens: 2 * 3_800,
      modelCalls: 3,
    });
    expect(savedUsd).toBeCloseTo(2 * COST, 12);
  });

  test("each take-over replays all before it", () => {
    expect(receipt("start ask answer start ask answer start done").replayed).toBe(1 + 2);
  });

  test("what is cut isn't replayed", () => {
    expect(receipt("start ask answer ask answer cut:4 start")).toMatchObject({ replayed: 1, repaid: 0, modelCalls: 2 });
    expect(receipt("start ask answer cut:2 start")).toMatchObject({ replayed: 0, savedUsd: 0 });
    expect(receipt("start ask answer cut:3 start").replayed).toBe(0); // the answer itself is cut
    expect(receipt("start ask answer cut:4 start").replayed).toBe(1);
  });

  test("a cut that only waits for a decision cuts nothing", () => {
    expect(receipt("start ask answer wait:2 start").replayed).toBe(1);
  });

  test("repaid: an answer to the same question at the same place", () => {
    expect(receipt("start ask:0 answer cut:2 start ask:0 answer").repaid).toBe(1);
    expect(receipt("start ask:0 answer cut:2 start ask:1 answer").repaid).toBe(0);
  });

  test.each([
    ["a worker that died with the question open", "start ask start ask answer", 1],
    ["a failed try", "start ask failed ask answer", 1],
    ["both", "start ask start ask failed ask answer", 2],
    ["a question whose task was cancelled", "start ask cancelled", 1],
    ["a question that may still be answered", "start ask", 0],
    ["a failed try is counted once", "start ask failed cancelled", 1],
    ["a cut between", "start ask cut:2 start ask answer", 1],
    ["none", "start ask answer done", 0],
  ])("unanswered: %s", (_, words, count) => {
    expect(receipt(words).unanswered).toBe(count);
  });

  test("is the same for any split of a run into streams", () => {
    const logs = fc.array(fc.constantFrom("start ask answer", "start ask failed ask answer start", "start ask"));
    fc.assert(
      fc.property(logs, logs, (a, b) => {
        const accounts = (all: string[]) => all.map((words) => accountsOf(log(words)));
        const whole = totalAccounts(accounts([...a, ...b]));
        const parts = addAccounts(totalAccounts(accounts(a)), totalAccounts(accounts(b)));
        expect(parts.receipt.modelCalls).toBe(whole.receipt.modelCalls);
        expect(parts.costUsd).toBeCloseTo(whole.costUsd as number, 9);
        expect(parts.usage).toEqual(whole.usage);
      }),
    );
  });
});

describe("a conversation", () => {
  test("of what was shown before nothing is replayed when somebody says something: only this turn's answers count (I6a)", () => {
    const turn = "start ask answer ask answer shown";
    expect(receipt(`${turn} ${turn} ${turn}`)).toMatchObject({
      modelCalls: 6,
      replayed: 0,
      savedTokens: 0,
      savedUsd: 0,
    });
    // The third turn's worker died after its first answer.
    expect(receipt(`${turn} ${turn} start ask answer start ask answer shown`)).toMatchObject({
      modelCalls: 6,
      replayed: 1,
    });
    expect(receipt(`start ask:1 answer shown start ask:1 answer`)).toMatchObject({ repaid: 1 });
  });
});
