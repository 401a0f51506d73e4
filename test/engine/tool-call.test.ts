// One tool call: whatever the author's code does, it ends as a result for the model, in time and once.
import { beforeEach, describe, expect, test } from "@jest/globals";
import { PAYLOAD_MAX_BYTES, TOOL_BACKOFF_MAX_MS } from "../../shared/core/limits.ts";
import { callTool, type ToolResult } from "../../shared/engine/tool-call.ts";
import type { ToolContext, ToolDefinition } from "../../shared/ports/agents.ts";
import { type Clock, createClock, drowsy, settle } from "./clock.ts";

/** An agent without a redaction. */
const NOBODYS = { name: "crew" };

let clock: Clock;
beforeEach(() => {
  clock = createClock();
});

type Handler = (args: unknown, ctx: ToolContext) => unknown;
const tool = (handler: Handler, rest: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name: "t",
  description: "",
  inputSchema: { type: "object" },
  effects: "external",
  idempotency: "keyed",
  approval: () => false,
  timeoutMs: 1_000,
  retry: { attempts: 1, backoffMs: 0 },
  parse: (args) => ({ ok: true, args }),
  handler,
  ...rest,
});
const ctx: Omit<ToolContext, "signal"> = {
  runId: "r",
  taskId: "w0t0",
  toolUseId: "a",
  idempotencyKey: "key",
  fencingToken: 3,
  env: { X: "1" },
  files: { list: async () => [], text: async () => null },
};
const never = new AbortController().signal;
const call = (of: ToolDefinition, interrupt = never, args = {}): Promise<ToolResult | null> =>
  callTool({ ...clock, agent: NOBODYS }, of, args, ctx, interrupt);
const returning = (value: unknown) => call(tool(() => value));
const forever = (): Promise<never> => new Promise(() => {});

describe("a result", () => {
  test("is what the handler returned, and it was told all it may know", async () => {
    const got: unknown[] = [];
    const handler: Handler = async (args, given) => {
      got.push(args, given.idempotencyKey, given.fencingToken, given.env, given.signal.aborted);
      return { rows: [1] };
    };
    expect(await call(tool(handler), never, { q: 1 })).toEqual({ result: { rows: [1] }, isError: false });
    expect(got).toEqual([{ q: 1 }, "key", 3, { X: "1" }, false]);
  });

  test("c11: is what a replay will read", async () => {
    const when = new Date(0);
    expect(await returning({ when, map: new Map([["k", -0]]), gone: undefined, n: Number.NaN })).toEqual({
      result: { map: { k: 0 }, n: null, when: "1970-01-01T00:00:00.000Z" },
      isError: false,
    });
    expect(await returning(undefined)).toEqual({ result: null, isError: false });
  });

  test("c11: what the handler changes afterwards isn't seen", async () => {
    const kept = { n: 1 };
    const result = await returning(kept);
    kept.n = 2;
    expect(result?.result).toEqual({ n: 1 });
  });

  test.each<[string, unknown, string]>([
    ["a BigInt", { id: 1n }, "$.id is a BigInt"],
    ["a function", [() => 1], "$[0] is a function"],
    ["binary data", Buffer.from("x"), "$ is binary data"],
    ["a forgotten await", { rows: Promise.resolve(1) }, "$.rows is a promise"],
  ])("c11: %s is an error that names the place", async (_, value, words) => {
    const result = await returning(value);
    expect(result).toMatchObject({ isError: true, result: expect.stringContaining(words) });
  });

  test("c11: a cycle is an error, not a crash", async () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(await returning(cycle)).toMatchObject({ isError: true, result: expect.stringContaining("$.self") });
  });

  test("a getter that throws is an error of the tool", async () => {
    const value = Object.defineProperty({}, "x", {
      enumerable: true,
      get: () => {
        throw new Error("not now");
      },
    });
    expect(await returning(value)).toEqual({ result: "The tool failed: not now", isError: true });
  });

  test("c12: 20 MB fail once, with size and limit named, and are not tried again", async () => {
    let ran = 0;
    const handler = () => {
      ran++;
      return "x".repeat(20_000_000);
    };
    const large = tool(handler, { retry: { attempts: 5, backoffMs: 10 } });
    expect(await call(large)).toEqual({
      result: expect.stringMatching(`20000002 bytes.*limit of ${PAYLOAD_MAX_BYTES} bytes`),
      isError: true,
    });
    expect(ran).toBe(1);
    expect(clock.slept).toEqual([1_000]); // the time-out's own timer
  });

  test.each([262_145, 1_100_000, 6_100_000])("c12: %i bytes are a result", async (bytes) => {
    expect(await returning("x".repeat(bytes - 2))).toMatchObject({ isError: false });
  });

  test("c11: a result that JSON can't hold isn't tried again: it would only repeat the effect", async () => {
    let ran = 0;
    await call(tool(() => BigInt(++ran), { retry: { attempts: 5, backoffMs: 0 } }));
    expect(ran).toBe(1);
  });
});

describe("a failure", () => {
  test.each<[string, Handler, string]>([
    ["thrown at once", () => { throw new Error("no such row"); }, "The tool failed: no such row"], // biome-ignore format: one line a case
    ["rejected", async () => Promise.reject(new Error("no such row")), "The tool failed: no such row"],
    ["c7: without a message", () => Promise.reject(new Error("")), "The tool failed: Error"],
    ["not an error at all", () => Promise.reject(Object.create(null)), "The tool failed: threw a value"],
    ["undefined", () => Promise.reject(), "The tool failed: undefined"],
  ])("%s is a result for the model", async (_, handler, words) => {
    expect(await call(tool(handler))).toMatchObject({ isError: true, result: expect.stringContaining(words) });
  });

  test("with a huge message is still small", async () => {
    const result = await call(tool(() => Promise.reject(new Error("x".repeat(20_000_000)))));
    expect(String(result?.result).length).toBeLessThan(10_000);
  });

  test("of the arguments is one, and the handler doesn't run", async () => {
    let ran = 0;
    const strict = tool(() => ran++, { parse: () => ({ ok: false, message: "q must be a string." }) });
    expect(await call(strict)).toEqual({
      result: "The arguments were not accepted, and the tool did not run. q must be a string.",
      isError: true,
    });
    expect(ran).toBe(0);
  });

  test("is tried again as often as the author said, with the same key, backing off within a bound", async () => {
    const keys: string[] = [];
    const flaky = tool(
      (_, given) => {
        keys.push(given.idempotencyKey);
        if (keys.length < 5) throw new Error("busy");
        return "done";
      },
      { retry: { attempts: 6, backoffMs: 20_000 } },
    );
    const result = call(flaky);
    await clock.pass(10 * 60_000);
    expect(await result).toEqual({ result: "done", isError: false });
    expect(keys).toEqual(Array(5).fill("key"));
    expect(clock.slept.filter((ms) => ms !== 1_000)).toEqual([
      20_000,
      40_000,
      TOOL_BACKOFF_MAX_MS,
      TOOL_BACKOFF_MAX_MS,
    ]);
  });

  test("after the last try is the last one's", async () => {
    let ran = 0;
    const broken = tool(() => Promise.reject(new Error(`try ${++ran}`)), { retry: { attempts: 3, backoffMs: 1 } });
    const result = call(broken);
    await clock.pass(100);
    expect(await result).toEqual({ result: "The tool failed: try 3", isError: true });
  });
});

describe("a time-out", () => {
  test("ends the call, and tells the handler", async () => {
    let told = false;
    const slow = tool((_, given) => {
      given.signal.addEventListener("abort", () => {
        told = true;
      });
      return forever();
    });
    const result = call(slow);
    await clock.pass(999);
    expect(told).toBe(false);
    await clock.pass(1);
    expect(await result).toEqual({
      result: "The tool did not finish within 1000 ms and was stopped. What it did until then is unknown.",
      isError: true,
    });
    expect(told).toBe(true);
  });

  test("a rejection that comes after it is nobody's, and crashes nothing", async () => {
    let reject: (reason: Error) => void = () => {};
    const result = call(tool(() => new Promise((_, no) => { reject = no; }))); // biome-ignore format: one line
    await clock.pass(1_000);
    expect((await result)?.isError).toBe(true);
    reject(new Error("too late"));
    await settle(); // an unhandled rejection would fail the test
    await settle();
  });

  test("a handler that answers its signal by throwing doesn't change the words", async () => {
    const polite = tool(
      (_, given) => new Promise((_yes, no) => given.signal.addEventListener("abort", () => no(given.signal.reason))),
    );
    const result = call(polite);
    await clock.pass(1_000);
    expect((await result)?.result).toMatch(/^The tool did not finish/);
  });

  test("counts for each try anew, and may be tried again", async () => {
    let ran = 0;
    const slow = tool(() => (++ran === 2 ? "done" : forever()), { retry: { attempts: 2, backoffMs: 50 } });
    const result = call(slow);
    await clock.pass(1_050);
    expect(await result).toEqual({ result: "done", isError: false });
  });

  test("leaves no timer behind when the call ends before it", async () => {
    await returning("quick");
    await clock.pass(10_000);
    expect(clock.slept).toEqual([1_000]);
  });
});

describe("an interrupt", () => {
  test("ends the call at once, with no result: nobody waits for it", async () => {
    const stop = new AbortController();
    const result = call(tool(forever), stop.signal);
    await settle();
    stop.abort();
    expect(await result).toBeNull();
  });

  test.each<[string, Handler]>([
    [
      "at once",
      (_, given) => new Promise((_yes, no) => given.signal.addEventListener("abort", () => no(new Error("stopped")))),
    ],
    [
      "a little later",
      (_, given) => new Promise((_yes, no) => given.signal.addEventListener("abort", () => setImmediate(no))),
    ],
    ["by throwing in its own loop", async (_, given) => { for (;;) { given.signal.throwIfAborted(); await settle(); } }], // biome-ignore format: one line a case
  ])("isn't recorded as the tool's failure when the handler answers it by failing %s", async (_, handler) => {
    const stop = new AbortController();
    const failing = tool(handler);
    const results = [clock, drowsy(clock)].map((deps) =>
      callTool({ ...deps, agent: NOBODYS }, failing, {}, ctx, stop.signal),
    );
    await settle();
    stop.abort(); // whichever notices it first, handler or clock
    expect(await Promise.all(results)).toEqual([null, null]);
    await settle();
  });

  test("between tries: no further one", async () => {
    const stop = new AbortController();
    let ran = 0;
    const broken = tool(() => Promise.reject(new Error(`${++ran}`)), { retry: { attempts: 9, backoffMs: 500 } });
    const result = call(broken, stop.signal);
    await clock.pass(600);
    stop.abort();
    expect(await result).toBeNull();
    expect(ran).toBe(2);
  });

  test("after the result is known changes nothing", async () => {
    const stop = new AbortController();
    const result = await call(
      tool(() => "done"),
      stop.signal,
    );
    stop.abort();
    expect(result).toEqual({ result: "done", isError: false });
  });
});
