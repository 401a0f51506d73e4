// A workflow's step: code of the author's with effects. It never rejects, ends in time, and gives what a replay will read.
import { beforeEach, describe, expect, test } from "@jest/globals";
import { PAYLOAD_MAX_BYTES, STEP_BACKOFF_MAX_MS, STEP_BACKOFF_MS } from "../../shared/core/limits.ts";
import type { StepCall } from "../../shared/core/workflow/schedule.ts";
import { runStep, type StepResult } from "../../shared/engine/run-steps.ts";
import { type Clock, createClock, drowsy, settle } from "./clock.ts";

/** An agent without a redaction. */
const NOBODYS = { name: "crew" };

let clock: Clock;
beforeEach(() => {
  clock = createClock();
});

const never = new AbortController().signal;
const step = (fn: StepCall["fn"], rest: Partial<StepCall> = {}): StepCall => ({
  seq: 7,
  name: "charge",
  fn,
  attempts: 3,
  timeoutMs: 1_000,
  idempotencyKey: "key",
  failures: 0,
  retryAt: null,
  ...rest,
});
const run = (of: StepCall, interrupt = never): Promise<StepResult | null> =>
  runStep({ ...clock, agent: NOBODYS }, of, interrupt);
const forever = (): Promise<never> => new Promise(() => {});
const completed = (value: unknown) => ({ event: { type: "StepCompleted", op: 7, value }, retryInMs: null });
const failed = (message: string, retryInMs: number | null, code = "step.failed") => ({
  event: { type: "StepFailed", op: 7, error: { code, message } },
  retryInMs,
});

describe("a step", () => {
  test("gets its key and a signal, and its value is recorded under its operation", async () => {
    const got: unknown[] = [];
    const of = step(async ({ idempotencyKey, signal }) => {
      got.push(idempotencyKey, signal.aborted);
      return { id: 1 };
    });
    expect(await run(of)).toEqual(completed({ id: 1 }));
    expect(got).toEqual(["key", false]);
  });

  test("c11: gives what a replay will read, detached from the original", async () => {
    const kept = { when: new Date(0), tags: new Set(["x"]), zero: -0, none: undefined };
    const result = await run(step(async () => kept));
    kept.tags.add("y");
    expect(result).toEqual(completed({ tags: ["x"], when: "1970-01-01T00:00:00.000Z", zero: 0 }));
  });

  test.each<[string, unknown, string]>([
    ["a BigInt", { id: 1n }, "$.id is a BigInt"],
    ["a function", [() => 1], "$[0] is a function"],
    ["a Map with other keys", new Map([[1, 1]]), "$ is a Map with a key of type number"],
  ])("c11: %s is final: trying again would give the same", async (_, value, words) => {
    const result = await run(step(async () => value));
    expect(result).toMatchObject({ event: { type: "StepFailed", error: { code: "step.failed" } }, retryInMs: null });
    expect(result?.event).toMatchObject({ error: { message: expect.stringContaining(words) } });
  });

  test("c12: 20 MB fail once, with size and limit named", async () => {
    expect(await run(step(async () => "x".repeat(20_000_000)))).toEqual(
      failed(`step charge returned 20000002 bytes, over the limit of ${PAYLOAD_MAX_BYTES} bytes`, null),
    );
  });
});

describe("a failed try", () => {
  const boom = (message: string) => async () => Promise.reject(new Error(message));

  test("is tried again later, and says how much later", async () => {
    expect(await run(step(boom("busy")))).toEqual(failed("step charge failed: busy", STEP_BACKOFF_MS));
    expect(await run(step(boom("busy"), { failures: 1 }))).toEqual(
      failed("step charge failed: busy", 2 * STEP_BACKOFF_MS),
    );
  });

  test("backs off within a bound, however often it failed", async () => {
    const result = await run(step(boom("busy"), { failures: 500, attempts: 1_000 }));
    expect(result?.retryInMs).toBe(STEP_BACKOFF_MAX_MS);
  });

  test("the last one is the end", async () => {
    expect(await run(step(boom("busy"), { failures: 2 }))).toEqual(failed("step charge failed: busy", null));
    expect(await run(step(boom("busy"), { attempts: 1 }))).toEqual(failed("step charge failed: busy", null));
  });

  test.each<[string, StepCall["fn"]]>([
    ["thrown before the first await", () => { throw new Error("at once"); }], // biome-ignore format: one line a case
    ["something without words", () => Promise.reject(Object.create(null))],
    ["a huge message", boom("x".repeat(20_000_000))],
    ["no message", () => Promise.reject(new Error(""))],
  ])("of %s is recorded all the same", async (_, fn) => {
    const result = await run(step(fn));
    expect(result?.event.type).toBe("StepFailed");
    expect(JSON.stringify(result?.event).length).toBeLessThan(10_000);
  });
});

describe("a time-out", () => {
  test("is a failed try with its own code; the step is told", async () => {
    let told = false;
    const of = step(({ signal }) => {
      signal.addEventListener("abort", () => {
        told = true;
      });
      return forever();
    });
    const result = run(of);
    await clock.pass(1_000);
    expect(await result).toEqual(failed("step charge did not end within 1000 ms", STEP_BACKOFF_MS, "step.timeout"));
    expect(told).toBe(true);
  });

  test("a rejection after it crashes nothing", async () => {
    let reject: (reason: Error) => void = () => {};
    const result = run(step(() => new Promise((_, no) => { reject = no; }))); // biome-ignore format: one line
    await clock.pass(1_000);
    expect((await result)?.event.type).toBe("StepFailed");
    reject(new Error("too late"));
    await settle(); // an unhandled rejection would fail the test
    await settle();
  });
});

describe("an interrupt", () => {
  test("ends it with nothing to record", async () => {
    const stop = new AbortController();
    const result = run(step(forever), stop.signal);
    await settle();
    stop.abort();
    expect(await result).toBeNull();
  });

  test("isn't recorded as the step's failure when its code answers it by throwing", async () => {
    const stop = new AbortController();
    const of = step(async ({ signal }) => {
      for (;;) {
        signal.throwIfAborted();
        await settle();
      }
    });
    const results = [clock, drowsy(clock)].map((deps) => runStep({ ...deps, agent: NOBODYS }, of, stop.signal));
    await settle();
    stop.abort(); // whichever notices it first, step or clock
    expect(await Promise.all(results)).toEqual([null, null]);
    await settle();
  });
});
