import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { createJsonLog } from "../../functions/log.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import { AGENT, type EngineTest, engineTest } from "../engine/support.ts";
import { CREW, CREW_MAIN, crewModel, ended, pumpOf } from "../engine/traced.ts";
import { registerSdk, type Sdk } from "../support/spans.ts";

let t: EngineTest;
let sdk: Sdk | null = null;
beforeAll(async () => {
  t = await engineTest();
});
afterAll(() => t.close());
afterEach(async () => {
  sdk?.close();
  sdk = null;
  await t.reset();
});

/** The log of a whole run, as a deployed worker writes it. */
async function logged(): Promise<{ runId: string; lines: Record<string, unknown>[] }> {
  const lines: string[] = [];
  const log = createJsonLog({ function: "task" }, (line) => lines.push(line));
  const stack = t.stack(CREW, CREW_MAIN, { model: crewModel() });
  const pump = pumpOf(stack, log);
  const started = await startRun({ ...stack.deps, log }, { agent: AGENT, input: "x" });
  if (started.type !== "started") throw new Error("not started");
  await ended(stack, pump, started.runId);
  return { runId: started.runId, lines: lines.map((line) => JSON.parse(line)) };
}

test("every line about a run says which function, run, task and span it is of", async () => {
  sdk = registerSdk();
  const { runId, lines } = await logged();
  const traceId = sdk.spans()[0]?.spanContext().traceId;
  const [first, ...rest] = lines;
  expect(first).toMatchObject({ message: "run started", function: "task", agent: AGENT, runId, traceId });
  const worked = rest.filter((line) => line.worked !== "leased" && line.worked !== "terminal");
  expect(worked).toHaveLength(8);
  for (const line of worked)
    expect(line).toMatchObject({ message: "worked", level: "info", function: "task", agent: AGENT, runId, traceId });
  expect(new Set(worked.map((line) => line.taskId))).toEqual(new Set([null, "w0t0", "w1t0", "w1t1", "w2t0"]));
  const spans = sdk.spans().filter((span) => span.name === "toren.tick" || span.name === "toren.task");
  expect(new Set(worked.map((line) => line.spanId))).toEqual(new Set(spans.map((span) => span.spanContext().spanId)));
});

test("without an SDK the same lines, without ids of spans", async () => {
  const { runId, lines } = await logged();
  expect(lines.length).toBeGreaterThan(8);
  for (const line of lines) {
    expect(line).toMatchObject({ runId, function: "task" });
    expect(Object.keys(line)).not.toEqual(expect.arrayContaining(["traceId"]));
    expect(Object.keys(line)).not.toEqual(expect.arrayContaining(["traceparent"]));
  }
});
