// The rules of tasks on the real engine: what goes wrong in a task, and what becomes of it.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import { cancelRun } from "../../shared/engine/cancel-run.ts";
import type { RoleDefinition } from "../../shared/ports/agents.ts";
import { role, tool } from "../support/agents.ts";
import { passTime } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest, until } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

const MAIN = { kind: "role", role: "main" } as const;
const ask = (more: Partial<RoleDefinition>, respond: (r: ModelRequest, n: number) => Turn) =>
  t.run([role("main", more)], MAIN, createScriptedModel(respond));
const results = (r: ModelRequest) =>
  (r.messages.at(-1)?.content ?? []).flatMap((p) => (p.type === "toolResult" ? [p] : []));

describe("tools", () => {
  test("bad arguments, an unknown tool and a thrown error are results for the model; nothing of them ran", async () => {
    const picky = tool("picky", () => "ran", { parse: () => ({ ok: false, message: "sum: a number is wanted" }) });
    const broken = tool("broken", () => {
      throw new Error("");
    });
    const { row, runId } = await ask({ tools: [picky, broken] }, (r, n) =>
      n === 0
        ? { tools: ["picky", "nowhere", "broken"].map((name) => ({ name, args: {} })) }
        : results(r)
            .map((p) => `${p.isError} ${p.text}`)
            .join("|"),
    );
    expect(row?.output).toMatch(
      /true .*sum: a number is wanted\|true There is no tool "nowhere".*picky, broken.*\|true The tool failed: \S+/,
    );
    expect(await t.payloads(runId, "ToolCallStarted")).toHaveLength(1);
  });

  test("c4: two tool uses with one id get ids of their own; both run once, both results reach the model", async () => {
    let ran = 0;
    const { row } = await ask({ tools: [tool("look", () => ++ran)] }, (r, n) =>
      n === 0
        ? { tools: [1, 2].map((i) => ({ name: "look", args: { i }, id: "same" })) }
        : results(r)
            .map((p) => `${p.toolUseId}=${p.text}`)
            .sort()
            .join(),
    );
    expect(ran).toBe(2);
    expect(row?.output).toBe("same=1,same_2=2");
  });

  test("c12: a result over 16 MiB is dropped once, with its size and the limit; one of 262,145 bytes goes to a blob and comes back whole", async () => {
    const big = tool("big", (a) => "x".repeat((a as { n: number }).n));
    const { row } = await ask({ tools: [big] }, (r, n) =>
      n === 0
        ? {
            tools: [
              { name: "big", args: { n: 20_000_000 } },
              { name: "big", args: { n: 262_145 } },
            ],
          }
        : results(r)
            .map((p) => `${p.isError} ${p.text.length} ${p.text.slice(0, 110)}`)
            .join("|"),
    );
    expect(row?.output).toMatch(
      /true \d+ The tool ran, but its result of 20000002 bytes is over the limit of 16777216 bytes.*\|false 262145 x/,
    );
  });

  test("c2: a result cut through an emoji goes out well-formed, and the log keeps it as it was", async () => {
    const half = tool("half", () => "😀".slice(0, 1));
    const { row, runId } = await ask({ tools: [half] }, (r, n) =>
      n === 0 ? { tools: [{ name: "half", args: {} }] } : JSON.stringify(results(r)[0]?.text),
    );
    expect(row?.output).toBe('"\uFFFD"');
    expect(JSON.stringify(await t.payloads(runId, "ToolCallCompleted"))).toContain("\uE0FFd83d");
  });

  test("a tool over its time-out is stopped, and told so", async () => {
    const slow = tool("slow", () => new Promise(() => {}), { timeoutMs: 30 });
    expect(
      (
        await ask({ tools: [slow] }, (r, n) =>
          n === 0 ? { tools: [{ name: "slow", args: {} }] } : (results(r)[0]?.text ?? ""),
        )
      ).row?.output,
    ).toMatch(/did not finish within 30 ms/);
  });
});

describe("answers", () => {
  const schema = { type: "object", required: ["n"], properties: { n: { type: "integer" } } };
  test("an output that breaks its schema is sent back with what is wrong, and corrected", async () => {
    const { row, runId } = await ask({ outputSchema: schema }, (r, n) =>
      n === 0
        ? '{"n": "two"}'
        : JSON.stringify(r.messages.at(-1)).includes("/n must be of type integer")
          ? 'Here: {"n": 2}'
          : "no",
    );
    expect(row).toMatchObject({ status: "completed", output: { n: 2 } });
    expect(await t.payloads(runId, "LlmCallCompleted")).toHaveLength(2);
  });
  test.each([
    ["a refusal", { refusal: true }, "model.refused"],
    ["nothing but tool calls up to maxSteps", { tools: [{ name: "look", args: {} }] }, "max_steps"],
  ] as [string, Turn, string][])("%s fails the task with its code", async (_, turn, code) => {
    const { row } = await ask({ tools: [tool("look", () => 1)], maxSteps: 3 }, () => turn);
    expect(row).toMatchObject({ status: "failed", error: { code } });
  });
  test("totalTokens is never passed: the call that might is not made", async () => {
    const { row, runId } = await ask(
      { tools: [tool("look", () => "y".repeat(3000))], totalTokens: 2500, maxTokens: 500 },
      () => ({ tools: [{ name: "look", args: {} }] }),
    );
    expect(row).toMatchObject({ status: "failed", error: { code: "budget_exhausted" } });
    const spent = (await t.payloads(runId, "LlmCallCompleted"))
      .map((p) => p.usage as { input: number; output: number })
      .reduce((n, u) => n + u.input + u.output, 0);
    expect(spent).toBeLessThanOrEqual(2500);
  });
  test("a role that allows more than its model can give asks for what it can give", async () => {
    const model = createScriptedModel(() => "Yes.");
    const stack = t.stack([role("main", { maxTokens: 9_000 })], MAIN, { model });
    const { facts } = stack.deps.models;
    const models = { ...stack.deps.models, facts: (name: string) => ({ ...facts(name), maxOutput: 4_096 }) };
    Object.assign(stack.deps, { models });
    const runId = await stack.start(AGENT, "x");
    await stack.drive({ agent: AGENT, runId });
    expect(model.ledger.map(({ request }) => request.maxTokens)).toEqual([4_096]);
  });
  test("a provider that stays away is tried a few times here, then the task parks: an outage holds no worker (c10)", async () => {
    const { runId, stack } = await ask({}, () => ({ status: 529, retryAfterMs: 9_000 }));
    expect(await t.payloads(runId, "LlmCallFailed")).toMatchObject([
      { error: { code: "model.unavailable" }, retryAt: expect.any(Number) },
    ]);
    expect(await stack.deps.store.tasks.open(AGENT, runId)).toEqual([{ taskId: "w0t0", wait: "retry" }]);
  });
});

describe("the crash window of a call (c3)", () => {
  async function crashed(
    effects: { effects: "external" | "none"; idempotency: "keyed" | "none" },
    onUnknownOutcome: "retry" | "fail" = "retry",
  ) {
    const keys: string[] = [];
    let hang = true;
    const act = tool(
      "act",
      (_, ctx) => {
        keys.push(ctx.idempotencyKey);
        return hang ? new Promise(() => {}) : "acted";
      },
      effects,
    );
    const roles = [role("main", { tools: [act], onUnknownOutcome })];
    const model = createScriptedModel((r, n) =>
      n === 0 ? { tools: [{ name: "act", args: { a: 1 } }] } : `${results(r).length} ${results(r)[0]?.text}`,
    );
    const first = t.stack(roles, MAIN, { model });
    const runId = await first.start(AGENT, "x");
    void first.drive({ agent: AGENT, runId });
    await until(() => keys.length === 1);
    first.fate.dead = true;
    first.fate.onDeath();
    hang = false;
    await t.sql(
      `UPDATE agent_${AGENT}.streams SET lease_until = clock_timestamp() - interval '1 s', wake_at = clock_timestamp() WHERE status IN ('ready', 'running') AND run_id = $1`,
      [runId],
    );
    const second = t.stack(roles, MAIN, { model });
    const row = await second.drive({ agent: AGENT, runId });
    second.stop();
    return { row, keys, runId };
  }
  test("a keyed call runs again under the same key; the model is sent one result", async () => {
    const { row, keys } = await crashed({ effects: "external", idempotency: "keyed" });
    expect(row?.output).toBe("1 acted");
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });
  test("an unkeyed one too, unless the role says that it must not", async () => {
    expect((await crashed({ effects: "external", idempotency: "none" })).keys).toHaveLength(2);
    const { row, keys } = await crashed({ effects: "external", idempotency: "none" }, "fail");
    expect(row).toMatchObject({ status: "failed", error: { code: "tool.unknown_outcome" } });
    expect(keys).toHaveLength(1);
  });
});

describe("cancelling", () => {
  test("a run whose model hangs ends at once, with what was known on record", async () => {
    const model = createScriptedModel(() => new Promise(() => {}));
    const stack = t.stack([role("main")], MAIN, { model });
    const runId = await stack.start(AGENT, "x");
    const driven = stack.drive({ agent: AGENT, runId });
    await until(() => model.ledger.length === 1);
    expect(await cancelRun(stack.deps, { agent: AGENT, runId, reason: "enough" })).toEqual({ type: "told" });
    expect(await driven).toMatchObject({ status: "cancelled", error: { code: "run.cancelled", message: "enough" } });
    await until(async () => (await t.events(runId, "task:w0t0")).includes("TaskCancelled"));
    expect(await cancelRun(stack.deps, { agent: AGENT, runId, reason: "again" })).toMatchObject({
      type: "refused",
      error: { code: "run.ended" },
    });
    stack.stop();
  });
  test("c16: a hint for a task whose step is running changes nothing while its lease lives", async () => {
    const model = createScriptedModel(async () => {
      await new Promise((r) => setTimeout(r, 200));
      return "once";
    });
    const stack = t.stack([role("main")], MAIN, { model });
    const runId = await stack.start(AGENT, "x");
    const driven = stack.drive({ agent: AGENT, runId });
    await until(() => model.ledger.length === 1);
    for (let i = 0; i < 5; i++)
      await stack.deps.queue.send([{ queue: "tasks-short", hint: { agent: AGENT, runId, taskId: "w0t0" } }]);
    expect(await driven).toMatchObject({ status: "completed", output: "once" });
    expect(model.ledger).toHaveLength(1);
    expect(stack.worked).toContain("leased");
    stack.stop();
  });
});

describe("handing over", () => {
  test("with too little time left a task stops at a step boundary, is nudged, and goes on for free", async () => {
    let left = 10_000_000;
    const model = createScriptedModel((_, n) => {
      left = 1_000;
      return n === 0 ? { tools: [{ name: "look", args: {} }] } : "done";
    });
    const roles = [role("main", { tools: [tool("look", () => "seen")] })];
    const short = t.stack(roles, MAIN, { model, remainingMs: () => left });
    const runId = await short.start(AGENT, "x");
    const driven = short.drive({ agent: AGENT, runId });
    await until(() => short.worked.includes("handedOver"));
    short.stop();
    await driven;
    await passTime({ pool: { query: (text: string) => t.sql(text) } } as never, AGENT);
    const long = t.stack(roles, MAIN, { model });
    expect(await long.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed", output: "done" });
    long.stop();
    expect(model.ledger).toHaveLength(2);
  });
});
