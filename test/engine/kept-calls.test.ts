// Calls that a provider keeps, whoever listens: fetched by whoever takes over, and not paid again when the provider can't be asked for them.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createOpenAi } from "../../shared/adapters/model/openai/index.ts";
import type { RawEvent } from "../../shared/core/events.ts";
import { accountsOf } from "../../shared/core/receipt.ts";
import { type Budget, NO_BUDGET } from "../../shared/core/task/ledger.ts";
import type { Model } from "../../shared/ports/model.ts";
import { role } from "../support/agents.ts";
import { inOrder } from "../support/wire/faults.ts";
import { createWireOpenAi, type Fault, type WireOpenAi, type WireOpenAiOptions } from "../support/wire/openai/index.ts";
import { AGENT, type EngineTest, engineTest, until } from "./support.ts";

let t: EngineTest;
const wires: WireOpenAi[] = [];
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => {
  await t.reset();
  await Promise.all(wires.splice(0).map((wire) => wire.close()));
});
afterAll(async () => await t.close());
const MAIN = { kind: "role", role: "main" } as const;

describe("a provider that keeps a call while its worker dies", () => {
  test("I5: the call is fetched by whoever takes over, not sent again; lost there, it is asked anew", async () => {
    const sent: string[] = [];
    const fetched: string[] = [];
    let lose = false;
    const model: Model & { ledger: never[] } = {
      ledger: [],
      reattaches: () => true,
      ask: async (_, signal, context) => {
        if (context?.reattach === undefined) {
          sent.push(`call ${sent.length}`);
          await context?.onAccepted?.(`call ${sent.length - 1}`);
          if (!lose)
            await new Promise((_r, reject) => signal.addEventListener("abort", () => reject(new Error("x")))).catch(
              () => {},
            );
        } else {
          fetched.push(context.reattach);
          if (lose)
            return {
              ok: false,
              failure: { error: { code: "model.unavailable", message: "no such call" }, retryable: true },
            };
        }
        const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 };
        return { ok: true, response: { content: [{ type: "text", text: "done" }], stopReason: "end", usage } };
      },
    };
    const die = async (runId: string) => {
      const stack = t.stack([role("main")], MAIN, { model });
      void stack.drive({ agent: AGENT, runId }).catch(() => {});
      await until(async () => (await t.events(runId, "task:w0t0")).includes("LlmCallAccepted"));
      stack.fate.dead = true;
      stack.fate.onDeath();
      stack.stop();
      await t.sql(`UPDATE agent_${AGENT}.streams SET lease_until = now(), wake_at = now() WHERE run_id = $1`, [runId]);
      await t.sql("UPDATE toren_control.queue_messages SET visible_at = now()");
    };
    const helper = t.stack([role("main")], MAIN, { model });
    for (const [lost, calls] of [
      [false, 1],
      [true, 2],
    ] as const) {
      sent.length = fetched.length = 0;
      lose = false;
      const runId = await helper.start(AGENT, "x");
      await die(runId);
      lose = lost;
      const row = await helper.drive({ agent: AGENT, runId });
      expect(row).toMatchObject({ status: "completed", output: "done" });
      expect(fetched).toEqual(["call 0"]);
      expect(sent).toHaveLength(calls);
      expect(await t.payloads(runId, "LlmCallCompleted")).toHaveLength(1);
    }
  });
});

describe("I5: a provider that can't be asked for an answer that it keeps", () => {
  async function keeping(options: Partial<WireOpenAiOptions>, budget: Budget = NO_BUDGET) {
    const wire = await createWireOpenAi({ script: () => "done", ...options });
    wires.push(wire);
    const openai = createOpenAi({ model: "gpt-4o", apiKey: "k", baseURL: wire.baseURL, pollMs: 5 });
    const model = { ...openai, ledger: [] };
    const main = role("main", { options: { api: "responses", background: true } });
    const worker = () => t.stack([main], MAIN, { model });
    const first = worker();
    const runId = await first.start(AGENT, "x", budget);
    const events = async (): Promise<RawEvent[]> =>
      await first.deps.store.streams.read({ agent: AGENT, runId, streamId: "task:w0t0" }, 0);
    return {
      wire,
      runId,
      /** By a worker of its own. */
      drive: () => worker().drive({ agent: AGENT, runId }),
      /** Works until it is parked, and stops then. */
      outage: async () => {
        const driven = first.drive({ agent: AGENT, runId });
        const parked = `SELECT 1 FROM agent_${AGENT}.streams WHERE run_id = $1 AND status = 'parked' AND wait = 'retry'`;
        await until(async () => (await t.sql(parked, [runId])).length === 1);
        first.stop();
        await driven;
        const row = await first.deps.store.runs.get(AGENT, runId);
        if (row === null) throw new Error("there is no such run");
        return row;
      },
      types: async () => (await events()).map(({ type }) => type),
      receipt: async () => accountsOf(await events()).receipt,
    };
  }
  const LONG: Fault = { status: 503, message: "down", headers: { "retry-after-ms": "5200" } }; // longer than a worker waits

  test("for a moment: the same worker fetches it", async () => {
    const { wire, drive, types, receipt } = await keeping({
      lookFaults: inOrder<Fault>({ fault: "reset" }, { status: 500 }, { fault: "html", status: 404 }),
    });
    expect(await drive()).toMatchObject({ status: "completed", output: "done" });
    expect(wire.ledger).toHaveLength(1);
    expect(await types()).toEqual([
      "TaskStarted",
      "LlmCallStarted",
      "LlmCallAccepted",
      "LlmCallFailed",
      "LlmCallFailed",
      "LlmCallFailed",
      "LlmCallCompleted",
      "TaskCompleted",
    ]);
    expect(await receipt()).toMatchObject({ modelCalls: 1, repaid: 0, unanswered: 0 });
  });

  test("for long: it parks, and what was reserved for it stays so; another worker fetches it", async () => {
    const cap = { totalTokens: 1_500, maxCostUsd: null }; // a second call of 1,000 tokens wouldn't fit beside the first
    const { wire, drive, outage, types, receipt } = await keeping(
      { lookFaults: inOrder<Fault>(LONG, { fault: "reset" }) },
      cap,
    );
    const waiting = await outage();
    expect(waiting.budget?.reserved.tokens).toBeGreaterThan(1_000);
    const row = await drive();
    expect(wire.ledger).toHaveLength(1);
    const { input = 0, output = 0 } = wire.ledger[0]?.billed ?? {};
    expect(row).toMatchObject({
      status: "completed",
      output: "done",
      budget: { spent: { tokens: input + output }, reserved: { tokens: 0 } },
    });
    expect(wire.looks).toHaveLength(4); // down, dropped, not yet, there
    expect((await types()).filter((type) => type.startsWith("LlmCall"))).toEqual([
      "LlmCallStarted",
      "LlmCallAccepted",
      "LlmCallFailed",
      "LlmCallFailed",
      "LlmCallCompleted",
    ]);
    expect(await receipt()).toMatchObject({ modelCalls: 1, unanswered: 0 });
  });

  test("a key that was taken away ends the task; what the provider keeps is on record as going on", async () => {
    const { drive, runId } = await keeping({
      lookFaults: () => ({ status: 401, code: "invalid_api_key", message: "no such key" }),
    });
    expect(await drive()).toMatchObject({ status: "failed", error: { code: "model.auth" } });
    expect(await t.payloads(runId, "LlmCallFailed")).toMatchObject([{ goesOn: true }]);
  });

  test("lost there during the outage, it is asked anew", async () => {
    const { wire, drive, outage, receipt } = await keeping({ lookFaults: inOrder<Fault>(LONG) });
    await outage();
    wire.expire();
    expect(await drive()).toMatchObject({ status: "completed" });
    expect(wire.ledger).toHaveLength(2);
    expect(await receipt()).toMatchObject({ modelCalls: 1, unanswered: 1 });
  });
});
