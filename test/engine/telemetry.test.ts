// Where spans stand: one run, one trace, whoever works on it and whatever wakes it; none for what a replay only reads.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { context, trace } from "@opentelemetry/api";
import { AlwaysOffSampler, ParentBasedSampler } from "@opentelemetry/sdk-trace";
import type { Pump } from "../../local/pump.ts";
import { localContext, toSqsEvent } from "../../local/sqs-event.ts";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { guard } from "../../shared/engine/guard.ts";
import { placeOf } from "../../shared/engine/spans.ts";
import { sendMessage } from "../../shared/engine/speak-to-task.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import { role, tool } from "../support/agents.ts";
import { idOf, linksOf, named, parentOf, registerSdk, type Sdk, spanIdIn, traceOf, tree } from "../support/spans.ts";
import { passTime, type Stack } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest, until } from "./support.ts";
import { CREW, CREW_MAIN, crewModel, ended, handlersOf, pumpOf } from "./traced.ts";

let t: EngineTest;
let sdk: Sdk;
const pumps: Pump[] = [];
beforeAll(async () => {
  t = await engineTest();
});
afterAll(() => t.close());
beforeEach(() => {
  sdk = registerSdk();
});
afterEach(async () => {
  for (const pump of pumps.splice(0)) await pump.stop(2_000);
  sdk.close();
  await t.reset();
});

const pumped = (stack: Stack): Pump => {
  const pump = pumpOf(stack);
  pumps.push(pump);
  return pump;
};
const traceContext = async (runId: string): Promise<string> => {
  const [row] = await t.sql<{ trace_context: string | null }>(
    `SELECT trace_context FROM agent_${AGENT}.runs WHERE run_id = $1`,
    [runId],
  );
  return row?.trace_context ?? "";
};
/** A task that ends before its tick has parked is read by that tick, and there is no second one. */
const ticksAtRest = (): Promise<void> =>
  until(async () => {
    const working = await t.sql(`SELECT FROM agent_${AGENT}.streams WHERE stream_id = 'run' AND status = 'running'`);
    return working.length === 0;
  });
const only = <T>(all: readonly T[]): T => {
  expect(all).toHaveLength(1);
  return all[0] as T;
};
const CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const CALLERS_TRACE = CALLER.split("-")[1];

test("a run of a crew is one trace: its start, ticks below it, tasks below their ticks, calls below their tasks; through queue, pump and handlers", async () => {
  const stack = t.stack(CREW, CREW_MAIN, { model: crewModel(ticksAtRest) });
  const pump = pumped(stack);
  const runId = await stack.start(AGENT, "x");
  await ended(stack, pump, runId);
  expect(tree(sdk.spans())).toEqual([
    "run",
    "  tick",
    "    task w0t0 planner",
    "      llm w0t0 s0",
    "  tick",
    "    task w1t0 digger",
    "      llm w1t0 s0",
    "      llm w1t0 s1",
    "      tool w1t0 look",
    "    task w1t1 digger",
    "      llm w1t1 s0",
    "      llm w1t1 s1",
    "      tool w1t1 look",
    "  tick",
    "    task w2t0 writer",
    "      llm w2t0 s0",
    "  tick",
  ]);
  expect(new Set(sdk.spans().map(traceOf)).size).toBe(1);
  expect(spanIdIn(await traceContext(runId))).toBe(idOf(only(named(sdk.spans(), "toren.run"))));
  // Each later tick says which task woke it.
  const tasks = named(sdk.spans(), "toren.task").map(idOf);
  const woken = named(sdk.spans(), "toren.tick").map((tick) => linksOf(tick).filter((id) => tasks.includes(id)).length);
  expect(woken).toEqual([0, 1, 1, 1]);
});

test("I5: a run that is resumed after its worker's death makes spans of what is done anew, and of nothing that is read from its log", async () => {
  let calls = 0;
  const roles = [role("digger", { tools: [tool("look", () => `found ${++calls}`)] })];
  const main = { kind: "role", role: "digger" } as const;
  let dies = true;
  const model = createScriptedModel(async ({ messages }) => {
    const answers = messages.filter((m) => m.role === "assistant").length;
    if (answers === 2 && dies) {
      await until(() => tree(sdk.spans()).some((line) => line.trim() === "tick")); // the tick lets go on its own time
      doomed.fate.dead = true;
      doomed.fate.onDeath();
      return new Promise<never>(() => {});
    }
    return answers === 3 ? "done" : { tools: [{ name: "look", args: { n: answers } }] };
  });
  const doomed = t.stack(roles, main, { model });
  const dead = pumpOf(doomed);
  const runId = await doomed.start(AGENT, "x");
  await until(() => doomed.fate.dead);
  void dead.stop(0); // its database never answers
  expect(tree(sdk.spans())).toEqual([
    "llm w0t0 s0", // below a span that its worker took along
    "llm w0t0 s1",
    "run",
    "  tick",
    "tool w0t0 look",
    "tool w0t0 look",
  ]);
  expect([model.ledger.length, calls]).toEqual([3, 2]);
  sdk.reset();
  dies = false;

  await passTime(t.database, AGENT);
  const heir = t.stack(roles, main, { model });
  const pump = pumped(heir);
  await guard(heir.deps);
  await ended(heir, pump, runId);
  expect([model.ledger.length, calls]).toEqual([5, 3]);
  expect(tree(sdk.spans())).toEqual([
    "task w0t0 digger", // its tick was exported before
    "  llm w0t0 s2",
    "  llm w0t0 s3",
    "  tool w0t0 look",
    "tick",
  ]);
  const its = (await traceContext(runId)).split("-")[1];
  expect(sdk.spans().map(traceOf)).toEqual(Array(5).fill(its));
  const [s2] = named(sdk.spans(), "toren.llm");
  expect(s2?.attributes).toMatchObject({ "toren.step_id": "s2", "toren.attempt": 1 });
});

test("a message that finds nothing to do has no span", async () => {
  const stack = t.stack([role("main")], { kind: "role", role: "main" }, { model: crewModel(ticksAtRest) });
  const pump = pumped(stack);
  const runId = await stack.start(AGENT, "x");
  await until(async () => (await stack.deps.store.runs.get(AGENT, runId))?.endedAt != null);
  await until(() => named(sdk.spans(), "toren.tick").length === 2);
  sdk.reset();
  const hint = { agent: AGENT, runId };
  await stack.deps.queue.send([
    { queue: "ticks", hint: { ...hint, taskId: null } },
    { queue: "tasks-short", hint: { ...hint, taskId: "w0t0" } },
    { queue: "ticks", hint: { ...hint, runId: stack.deps.uuid(), taskId: null } },
  ]);
  const left = async () => (await t.sql(`SELECT FROM toren_control.queue_messages`)).length;
  await until(async () => (await left()) === 0);
  await pump.stop();
  expect(sdk.spans()).toEqual([]);
});

test("the caller's trace is the run's: its traceparent, or the span that is active where a run is started", async () => {
  const stack = t.stack(CREW, { kind: "role", role: "writer" }, { model: crewModel() });
  const byHeader = await startRun(stack.deps, { agent: AGENT, input: "x", traceparent: CALLER });
  const run = only(named(sdk.spans(), "toren.run"));
  expect([traceOf(run), parentOf(run)]).toEqual([CALLERS_TRACE, spanIdIn(CALLER)]);
  expect(byHeader).toMatchObject({ type: "started" });
  sdk.reset();

  const tracer = trace.getTracer("a server's own instrumentation");
  const request = tracer.startSpan("POST /runs");
  await context.with(trace.setSpan(context.active(), request), () =>
    startRun(stack.deps, { agent: AGENT, input: "y", traceparent: CALLER }),
  );
  expect(parentOf(only(named(sdk.spans(), "toren.run")))).toBe(request.spanContext().spanId);
  sdk.reset();

  for (const traceparent of ["", "x", `${CALLER}-more`, CALLER.replace(/[1-9a-f]/g, "0"), "0".repeat(1_000_000)])
    expect(await startRun(stack.deps, { agent: AGENT, input: "z", traceparent })).toMatchObject({ type: "started" });
  expect(named(sdk.spans(), "toren.run").map(parentOf)).toEqual(Array(5).fill(undefined));
});

test("a run that was there already is not started, and has no second span", async () => {
  const stack = t.stack(CREW, { kind: "role", role: "writer" }, { model: crewModel() });
  const start = (input: string) => startRun(stack.deps, { agent: AGENT, input, idempotencyKey: "k" });
  const first = await start("x");
  const before = "runId" in first ? await traceContext(first.runId) : "";
  expect((await start("x")).type).toBe("existing");
  expect((await start("y")).type).toBe("refused");
  expect(named(sdk.spans(), "toren.run")).toHaveLength(1);
  expect("runId" in first && (await traceContext(first.runId))).toBe(before);
});

test("what wakes a run from outside is linked: the run goes on in its own trace, days later too", async () => {
  const stack = t.stack([role("main")], { kind: "session", role: "main" }, { model: createScriptedModel(() => "yes") });
  const pump = pumped(stack);
  const runId = await stack.start(AGENT, "hello");
  const status = async () => (await stack.deps.store.runs.get(AGENT, runId))?.status;
  await until(async () => (await status()) === "awaitingInput");
  await until(() => named(sdk.spans(), "toren.task").length === 1);
  sdk.reset();

  const request = trace.getTracer("a server's own instrumentation").startSpan("POST /messages");
  await context.with(trace.setSpan(context.active(), request), () =>
    sendMessage(stack.deps, { agent: AGENT, runId, text: "bye", close: true, steer: false }),
  );
  await ended(stack, pump, runId);
  const root = await traceContext(runId);
  const turn = only(named(sdk.spans(), "toren.task"));
  expect([parentOf(turn), traceOf(turn)]).toEqual([spanIdIn(root), root.split("-")[1]]);
  expect(linksOf(turn)).toEqual([request.spanContext().spanId]);
});

test("the guardian knows of no trace; what it wakes finds the run's in the database", async () => {
  const stack = t.stack(CREW, { kind: "role", role: "writer" }, { model: crewModel(ticksAtRest) });
  const runId = await stack.start(AGENT, "x");
  await t.sql("DELETE FROM toren_control.queue_messages"); // I9
  await passTime(t.database, AGENT);
  await guard(stack.deps);
  const bodies = await t.sql<{ body: object }>("SELECT body FROM toren_control.queue_messages");
  expect(bodies).toEqual([{ body: { agent: AGENT, runId, taskId: null } }]);
  const pump = pumped(stack);
  await ended(stack, pump, runId);
  expect(tree(sdk.spans())).toEqual(["run", "  tick", "    task w0t0 writer", "      llm w0t0 s0", "  tick"]);
});

test("a task that hands itself on stays below its tick, however often", async () => {
  let steps = 0;
  let late = false; // each invocation has time for one question
  const roles = [role("digger", { tools: [tool("look", () => "found")] })];
  const model = createScriptedModel(() => {
    late = true;
    return ++steps < 4 ? { tools: [{ name: "look", args: { steps } }] } : "done";
  });
  const stack = t.stack(roles, { kind: "role", role: "digger" }, { model });
  const runId = await stack.start(AGENT, "x");
  const { tick, task } = handlersOf(stack);
  const work = async (): Promise<void> => {
    for (const [queue, handle] of [["ticks", tick] as const, ["tasks-short", task] as const]) {
      const got = await stack.deps.queue.receive(queue, 10, 60_000);
      const lambda = localContext(queue, "1");
      lambda.getRemainingTimeInMillis = () => (late ? 0 : 600_000);
      late = false;
      if (got.length > 0) await handle(toSqsEvent(got), lambda);
    }
  };
  await until(async () => {
    await work();
    return (await stack.deps.store.runs.get(AGENT, runId))?.endedAt != null;
  });
  const tasks = named(sdk.spans(), "toren.task");
  expect(tasks).toHaveLength(4);
  expect(tasks.filter((span) => span.attributes["toren.outcome"] === "handedOver")).toHaveLength(tasks.length - 1);
  expect(new Set(tasks.map(parentOf)).size).toBe(1);
  expect(named(sdk.spans(), "toren.tick").map(idOf)).toContain(parentOf(tasks[0] as (typeof tasks)[0]));
});

test("a worker claims messages in nobody's trace, although whoever sends one wakes it", async () => {
  const stack = t.stack(CREW, { kind: "role", role: "writer" }, { model: crewModel() });
  const { queue } = stack.deps;
  const claims: unknown[] = [];
  const receive: typeof queue.receive = (...how) => {
    claims.push(trace.getActiveSpan());
    return queue.receive(...how);
  };
  const pump = pumped({ ...stack, deps: { ...stack.deps, queue: { ...queue, receive } } });
  await ended(stack, pump, await stack.start(AGENT, "x"));
  expect(claims.length).toBeGreaterThan(3);
  expect(claims.filter((span) => span !== undefined)).toEqual([]);
});

test("a trace that its sampler leaves out is left out by every worker, and goes on being one", async () => {
  sdk.close();
  sdk = registerSdk({ sampler: new ParentBasedSampler({ root: new AlwaysOffSampler() }) });
  const stack = t.stack(CREW, { kind: "role", role: "writer" }, { model: crewModel() });
  const pump = pumped(stack);
  const runId = await stack.start(AGENT, "x");
  await ended(stack, pump, runId);
  expect(sdk.spans()).toEqual([]);
  expect(await traceContext(runId)).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
});

test("a run that nobody traced at its start goes on in the trace of whoever wakes it first", () => {
  const hint = { agent: AGENT, runId: "r", taskId: null };
  expect(placeOf(null, hint)).toEqual({ parent: null, links: [] });
  expect(placeOf(null, { ...hint, traceparent: CALLER })).toEqual({ parent: CALLER, links: [] });
  expect(placeOf(CALLER, { ...hint, traceparent: "garbage" })).toEqual({ parent: CALLER, links: [] });
});
