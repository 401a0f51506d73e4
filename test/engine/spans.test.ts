// What spans say, and what they never say.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { trace } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { TorenError } from "../../shared/core/errors.ts";
import type { Json } from "../../shared/core/json.ts";
import { traceModelCall, traceWork } from "../../shared/engine/spans.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import { traceFields } from "../../shared/engine/telemetry.ts";
import type { Outgoing } from "../../shared/ports/queue.ts";
import { role, tool } from "../support/agents.ts";
import { recordingLog } from "../support/log.ts";
import { named, registerSdk, type Sdk, traceOf } from "../support/spans.ts";
import { AGENT, type EngineTest, engineTest, until } from "./support.ts";
import { ended, pumpOf } from "./traced.ts";

let t: EngineTest;
let sdk: Sdk | null = null;
const listen = (): Sdk => {
  sdk = registerSdk();
  return sdk;
};
beforeAll(async () => {
  t = await engineTest();
});
afterAll(() => t.close());
afterEach(async () => {
  sdk?.close();
  sdk = null;
  await t.reset();
});

const MAIN = { kind: "role", role: "main" } as const;
const HINT = { agent: AGENT, runId: "00000000-0000-4000-8000-000000000001", taskId: "w0t0" } as const;
const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const traces = (traceContext: string | null = TRACE) => ({
  of: async () => ({ traceContext, role: "main", atRest: false }),
});
const noUsage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 };

describe("what spans say", () => {
  test("a task with a model call and a tool call, in the words of the GenAI conventions and in ours", async () => {
    const { spans } = listen();
    const usage = { input: 100, cacheRead: 30, cacheWrite: 20, output: 40, reasoning: 10 };
    const model = createScriptedModel(({ messages }) =>
      messages.length === 1
        ? { tools: [{ name: "look", args: {}, id: "call-1" }] }
        : {
            response: {
              content: [{ type: "text", text: "done" }],
              stopReason: "end",
              usage,
              servedBy: "script-2026-01-01",
            },
          },
    );
    /** The run's tick has parked by then: it isn't at work still when the task ends. */
    const look = tool(
      "look",
      async () => {
        const parked = `SELECT 1 FROM agent_${AGENT}.streams WHERE stream_id = 'run' AND status = 'parked'`;
        await until(async () => (await t.sql(parked)).length === 1);
        return "found";
      },
      { effects: "external" },
    );
    const roles = [role("main", { tools: [look] })];
    const stack = t.stack(roles, MAIN, { model });
    const pump = pumpOf(stack);
    const runId = await stack.start(AGENT, "x");
    await ended(stack, pump, runId);
    const ids = { "toren.agent": AGENT, "toren.run_id": runId };
    const ofTask = { ...ids, "toren.task_id": "w0t0" };
    const said = (name: string) => named(spans(), name).map((s) => s.attributes);
    expect(said("toren.run")).toEqual([{ ...ids, "toren.process": "main" }]);
    expect(said("toren.tick")).toEqual([
      { ...ids, "toren.outcome": "parked" },
      { ...ids, "toren.outcome": "ended" },
    ]);
    expect(said("toren.task")).toEqual([
      { ...ofTask, "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "main", "toren.outcome": "ended" },
    ]);
    expect(said("toren.tool")).toEqual([
      {
        ...ofTask,
        "toren.attempt": 1,
        "toren.effects": "external",
        "toren.outcome": "completed",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": expect.stringContaining("call-1"),
      },
    ]);
    const [, last] = said("toren.llm");
    const [recorded] = (await t.payloads(runId, "LlmCallCompleted")).slice(-1) as { cost: { usd: number } }[];
    expect(last).toEqual({
      ...ofTask,
      "toren.step_id": "s1",
      "toren.attempt": 1,
      "toren.purpose": "step",
      "toren.outcome": "answered",
      "toren.cost_usd": recorded?.cost.usd,
      "toren.cost_simulated": true,
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "mock",
      "gen_ai.request.model": "script",
      "gen_ai.request.max_tokens": 1000,
      "gen_ai.response.model": "script-2026-01-01",
      "gen_ai.response.finish_reasons": ["end"],
      "gen_ai.usage.input_tokens": 150, // cached ones included, as the conventions have it
      "gen_ai.usage.output_tokens": 40,
      "gen_ai.usage.cache_read.input_tokens": 30,
      "gen_ai.usage.cache_creation.input_tokens": 20,
      "gen_ai.usage.reasoning.output_tokens": 10,
    });
  });

  test("each try of a model call and of a tool call has a span; a failed one says its error's code", async () => {
    const { spans } = listen();
    let tries = 0;
    const model = createScriptedModel(({ messages }, n) => {
      if (n === 0) return { status: 529 };
      return messages.length === 1 ? { tools: [{ name: "shaky", args: {} }] } : "done";
    });
    const shaky = tool(
      "shaky",
      () => {
        if (++tries === 1) throw new Error("a SECRET that the outside world said");
        if (tries === 2) return 10n;
        return "never";
      },
      { retry: { attempts: 3, backoffMs: 1 } },
    );
    const stack = t.stack([role("main", { tools: [shaky] })], MAIN, { model });
    const pump = pumpOf(stack);
    await ended(stack, pump, await stack.start(AGENT, "x"));
    const said = (name: string) =>
      named(spans(), name).map((s) => [s.attributes["toren.attempt"], s.attributes["error.type"], s.status]);
    const failed = { code: 2 };
    expect(said("toren.llm")).toEqual([
      [1, "model.unavailable", failed],
      [2, undefined, { code: 0 }],
      [1, undefined, { code: 0 }],
    ]);
    expect(said("toren.tool")).toEqual([
      [1, "exception", failed],
      [2, "bad_result", failed], // not tried again: it would only repeat the effect
    ]);
    expect(spans().flatMap((span) => span.events)).toEqual([]);
  });

  test("Bedrock goes by the name that the conventions have for it; an unknown price is left out, never zero", async () => {
    const { spans } = listen();
    const request = { model: "bedrock/eu.anthropic.x", system: "", tools: [], messages: [], maxTokens: 5, options: {} };
    const about = { stepId: "s0", purpose: "summary", attempt: 2, rates: null, reattached: true } as const;
    const response = { stopReason: "end", usage: noUsage } as const;
    await traceModelCall(request, about, async () => ({ type: "answered", response }));
    await traceModelCall(request, undefined, async () => ({ type: "interrupted" }));
    const error = { code: "model.unavailable", message: "It broke." } as const;
    const failure = { error, retryable: true, usage: { ...noUsage, input: 1_000_000, output: 2 } };
    const rates = { input: 3, cacheRead: 0, cacheWrite: 0, output: 0, simulated: false };
    await traceModelCall(request, { ...about, rates }, async () => ({ type: "failed", failure }));
    const [first, second, third] = spans().map((span) => span.attributes);
    expect(first).toMatchObject({
      "gen_ai.provider.name": "aws.bedrock",
      "gen_ai.request.model": "eu.anthropic.x",
      "toren.purpose": "summary",
      "toren.attempt": 2,
      "toren.reattached": true,
    });
    expect(Object.keys(first ?? {})).not.toContain("toren.cost_usd");
    expect(second).toMatchObject({ "toren.outcome": "interrupted" });
    const counted = { "gen_ai.usage.input_tokens": 1_000_000, "gen_ai.usage.output_tokens": 2, "toren.cost_usd": 3 };
    expect(third).toMatchObject({ "toren.outcome": "failed", ...counted });
  });

  test("work that throws ends its span with the error's code, and is thrown on", async () => {
    const { spans } = listen();
    const away = new TorenError("database.unavailable", "SECRET host");
    const work = traceWork(traces(), HINT, () => Promise.reject(away));
    await expect(work).rejects.toBe(away);
    await expect(traceWork(traces(), HINT, () => Promise.reject("what?"))).rejects.toBe("what?");
    expect(spans().map((s) => s.attributes["error.type"])).toEqual(["database.unavailable", "bug"]);
    expect(JSON.stringify(spans().map((s) => [s.attributes, s.status, s.events]))).not.toContain("SECRET");
  });

  test("no prompt, input, answer, argument, result, error text or secret is in any span, log line or message", async () => {
    const { spans } = listen();
    const say = (what: string): string => `PRIVATE-${what}`;
    const look = tool("look", (args) => {
      if ((args as { fail?: boolean }).fail) throw new Error(say("thrown"));
      return { found: say("result") };
    });
    const model = createScriptedModel(({ messages }, n) => {
      if (n === 0) return { status: 429 };
      const answers = messages.filter((m) => m.role === "assistant").length;
      if (answers === 2) return say("answer");
      const args: Json = { q: say("argument"), fail: answers === 1 };
      return { tools: [{ name: "look", args }], text: say("thought") };
    });
    const roles = [role("main", { tools: [look], system: say("system") })];
    const stack = t.stack(roles, MAIN, { model });
    const log = recordingLog();
    const sent: Outgoing[] = [];
    const { queue } = stack.deps;
    const deps = {
      ...stack.deps,
      queue: {
        ...queue,
        send: async (messages: readonly Outgoing[]) => {
          sent.push(...messages);
          await queue.send(messages);
        },
      },
    };
    const pump = pumpOf({ ...stack, deps }, log);
    const started = await startRun(deps, { agent: AGENT, input: { ask: say("input") } });
    if (started.type !== "started") throw new Error("not started");
    await ended(stack, pump, started.runId);
    expect((await stack.deps.store.runs.get(AGENT, started.runId))?.output).toBe(say("answer"));
    const all = spans().map(({ name, attributes, events, status, links }) => ({
      name,
      attributes,
      events,
      status,
      links,
    }));
    expect(all.length).toBeGreaterThan(8);
    expect(JSON.stringify([all, log.entries, sent])).not.toContain("PRIVATE");
    // The fields are a closed list: a new one is looked at before it is let in.
    expect([...new Set(all.flatMap((span) => Object.keys(span.attributes)))].sort()).toEqual([
      "error.type",
      "gen_ai.agent.name",
      "gen_ai.operation.name",
      "gen_ai.provider.name",
      "gen_ai.request.max_tokens",
      "gen_ai.request.model",
      "gen_ai.response.finish_reasons",
      "gen_ai.tool.call.id",
      "gen_ai.tool.name",
      "gen_ai.tool.type",
      "gen_ai.usage.cache_creation.input_tokens",
      "gen_ai.usage.cache_read.input_tokens",
      "gen_ai.usage.input_tokens",
      "gen_ai.usage.output_tokens",
      "gen_ai.usage.reasoning.output_tokens",
      "toren.agent",
      "toren.attempt",
      "toren.cost_simulated",
      "toren.cost_usd",
      "toren.effects",
      "toren.outcome",
      "toren.process",
      "toren.purpose",
      "toren.run_id",
      "toren.step_id",
      "toren.task_id",
    ]);
  });

  test("within a tool and a model call their span is active: what they call is traced below it", async () => {
    const { spans } = listen();
    const seen: Record<string, string | undefined> = {};
    const here = () => trace.getActiveSpan()?.spanContext().spanId;
    const look = tool("look", () => {
      seen.tool = here();
      return "found";
    });
    const model = createScriptedModel(({ messages }) => {
      seen.llm = here();
      return messages.length === 1 ? { tools: [{ name: "look", args: {} }] } : "done";
    });
    const stack = t.stack([role("main", { tools: [look] })], MAIN, { model });
    const pump = pumpOf(stack);
    await ended(stack, pump, await stack.start(AGENT, "x"));
    const last = (name: string) => named(spans(), name).at(-1)?.spanContext().spanId;
    expect(seen).toEqual({ tool: last("toren.tool"), llm: last("toren.llm") });
  });

  test("a log line within a run's work gets its span's ids; one about another run, or none, gets nothing", async () => {
    listen();
    let inside: unknown[] = [];
    await traceWork(traces(), HINT, async () => {
      inside = [traceFields(HINT.runId), traceFields("another"), traceFields(undefined)];
      return "ended";
    });
    const span = sdk?.spans()[0] as ReadableSpan;
    expect(inside).toEqual([{ traceId: traceOf(span), spanId: span.spanContext().spanId }, null, null]);
    expect(traceFields(HINT.runId)).toBeNull();
  });
});
