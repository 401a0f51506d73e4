// Where no OpenTelemetry SDK is registered, or a broken one: nothing is made for it, and work goes on.
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { context, type Tracer, trace } from "@opentelemetry/api";
import { type SpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { TorenError } from "../../shared/core/errors.ts";
import { SPANS_FLUSH_MAX_MS } from "../../shared/core/limits.ts";
import { nudge } from "../../shared/engine/hints.ts";
import { traceWork } from "../../shared/engine/spans.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import { flushSpans, sdkProblem, traceFields } from "../../shared/engine/telemetry.ts";
import type { Outgoing } from "../../shared/ports/queue.ts";
import { registerSdk, type Sdk } from "../support/spans.ts";
import { AGENT, type EngineTest, engineTest } from "./support.ts";
import { CREW, CREW_MAIN, crewModel, ended, pumpOf } from "./traced.ts";

let t: EngineTest;
let sdk: Sdk | null = null;
const listen = (more: Parameters<typeof registerSdk>[0] = {}): Sdk => {
  sdk = registerSdk(more);
  return sdk;
};
beforeAll(async () => {
  t = await engineTest();
});
afterAll(() => t.close());
afterEach(async () => {
  sdk?.close();
  sdk = null;
  jest.restoreAllMocks();
  await t.reset();
});

const HINT = { agent: AGENT, runId: "00000000-0000-4000-8000-000000000001", taskId: "w0t0" } as const;
const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe("where nobody listens", () => {
  test("no tracer is asked for, no context is made, nothing is read for it, and no message carries anything", async () => {
    const made = [jest.spyOn(context, "with"), jest.spyOn(trace, "setSpan"), jest.spyOn(trace, "getTracer")];
    const stack = t.stack(CREW, CREW_MAIN, { model: crewModel() });
    const read = jest.spyOn(stack.deps.store.traces, "of");
    const bodies: object[] = [];
    const { queue } = stack.deps;
    const deps = {
      ...stack.deps,
      queue: {
        ...queue,
        send: async (messages: readonly Outgoing[]) => {
          bodies.push(...messages.map((m) => m.hint));
          await queue.send(messages);
        },
      },
    };
    const pump = pumpOf({ ...stack, deps });
    const started = await startRun(deps, { agent: AGENT, input: "x" });
    if (started.type !== "started") throw new Error("not started");
    await ended(stack, pump, started.runId);
    for (const spy of [...made, read]) expect(spy).not.toHaveBeenCalled();
    expect(bodies.length).toBeGreaterThan(7);
    for (const body of bodies) expect(Object.keys(body)).toEqual(["agent", "runId", "taskId"]);
    expect(await t.sql(`SELECT trace_context FROM agent_${AGENT}.runs`)).toEqual([{ trace_context: null }]);
    expect(sdkProblem()).toBeNull();
    expect(traceFields(started.runId)).toBeNull();
    await flushSpans(stack.deps.sleep);
  });

  test("the caller's trace is kept for workers where somebody does, and travels in no message", async () => {
    const stack = t.stack(CREW, CREW_MAIN, { model: crewModel() });
    await startRun(stack.deps, { agent: AGENT, input: "x", traceparent: TRACE });
    expect(await t.sql(`SELECT trace_context FROM agent_${AGENT}.runs`)).toEqual([{ trace_context: TRACE }]);
    const [{ body } = { body: {} }] = await t.sql<{ body: object }>("SELECT body FROM toren_control.queue_messages");
    expect(Object.keys(body)).not.toContain("traceparent");
  });

  test("what came with a message is handed on by workers that don't trace", async () => {
    const sent: Outgoing[] = [];
    const queue = { send: async (messages: readonly Outgoing[]) => void sent.push(...messages) };
    await nudge({ queue } as never, [{ ...HINT, traceparent: TRACE }, HINT]);
    expect(sent.map((m) => m.hint.traceparent)).toEqual([TRACE, undefined]);
    expect(sent.map((m) => m.dedupeKey)).toEqual(Array(2).fill(sent[0]?.dedupeKey)); // the trace is no part of what a message is
  });
});

describe("when something is wrong with the SDK", () => {
  const throwing = (when: "onStart" | "onEnd"): SpanProcessor => ({
    onStart: () => {
      if (when === "onStart") throw new Error("a processor's bug");
    },
    onEnd: () => {
      if (when === "onEnd") throw new Error("a processor's bug");
    },
    forceFlush: async () => {},
    shutdown: async () => {},
  });

  test.each(["onStart", "onEnd"] as const)("a run completes although a span processor throws in %s", async (when) => {
    listen({ processors: [throwing(when)] });
    const stack = t.stack(CREW, CREW_MAIN, { model: crewModel() });
    const pump = pumpOf(stack);
    const runId = await stack.start(AGENT, "x");
    await ended(stack, pump, runId);
    expect(await stack.deps.store.runs.get(AGENT, runId)).toMatchObject({ status: "completed", output: "done" });
    expect(stack.deps.keeper.size).toBe(0);
  });

  test("where the trace can't be read, the work is done all the same, without a span of its own", async () => {
    const { spans } = listen();
    const broken = { of: () => Promise.reject(new TorenError("database.unavailable", "away")) };
    const inside = await traceWork(broken, { ...HINT, traceparent: TRACE }, async () => {
      return trace.getActiveSpan()?.spanContext().spanId ?? "none";
    });
    expect(inside).toBe(TRACE.split("-")[2]);
    expect(spans()).toEqual([]);
  });

  test("an SDK of an older API is named; so is one without a context manager", () => {
    const API = Symbol.for("opentelemetry.js.api.1");
    const globals = globalThis as { [API]?: unknown };
    try {
      globals[API] = { version: "1.9.0", trace: { getTracer: () => ({}) as Tracer } };
      expect(sdkProblem()).toMatch(/@opentelemetry\/api 1\.9\.0, which is older/);
    } finally {
      delete globals[API];
    }
    trace.setGlobalTracerProvider(new TracerProvider());
    expect(sdkProblem()).toMatch(/no context manager/);
    trace.disable();
    listen();
    expect(sdkProblem()).toBeNull();
  });

  test("I11: what a batch holds is sent before a process may freeze; a collector that doesn't answer is waited for a while", async () => {
    let flushes = 0;
    let answer = async (): Promise<void> => {};
    const processor: SpanProcessor = {
      onStart: () => {},
      onEnd: () => {},
      shutdown: async () => {},
      forceFlush: async () => {
        flushes++;
        await answer();
      },
    };
    listen({ processors: [processor] });
    const slept: number[] = [];
    const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
      slept.push(ms);
      if (signal !== undefined && flushes === 1)
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    };
    await flushSpans(sleep);
    let late = (): void => {};
    answer = () => new Promise((resolve) => (late = resolve));
    await flushSpans(sleep);
    late();
    answer = () => Promise.reject(new Error("refused"));
    await flushSpans(sleep);
    expect([flushes, slept]).toEqual([3, Array(3).fill(SPANS_FLUSH_MAX_MS)]);
  });
});
