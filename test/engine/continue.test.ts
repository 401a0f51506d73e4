// Over 300 lines: one behaviour, from all sides. Runs that go on for ever, on the real engine: what stood before is sealed, and costs nothing any more.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { fate } from "../../local/testing/mortal.ts";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import type { Json } from "../../shared/core/json.ts";
import { INBOX_FACTS_MAX } from "../../shared/core/limits.ts";
import type { WorkflowCtx } from "../../shared/core/workflow/context.ts";
import { cancelRun } from "../../shared/engine/cancel-run.ts";
import { forkRun } from "../../shared/engine/fork-run.ts";
import { retryRun } from "../../shared/engine/retry-run.ts";
import { decideCut, sendSignal } from "../../shared/engine/speak-to-task.ts";
import type { StreamRef } from "../../shared/ports/store.ts";
import { role, workflow } from "../support/agents.ts";
import { passTime, type Stack } from "../support/stack.ts";
import { familyOf, paying } from "./family.ts";
import { AGENT, type EngineTest, engineTest, firstText, resetChecked, until } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(() => resetChecked(t));
afterAll(async () => await t.close());

const { family, started, children } = familyOf(() => t);
type Ctx = WorkflowCtx<Json>;
const rounds = (ctx: Ctx): number => (typeof ctx.input === "number" ? ctx.input : 0);
const own = async (runId: string) => {
  const [row] = await t.sql<{ head: number; sealed: number; facts: number; inbox: number }>(
    `SELECT head_seq::int AS head, sealed_seq::int AS sealed, sealed_facts::int AS facts, inbox_seq::int AS inbox
     FROM agent_${AGENT}.streams WHERE run_id = $1 AND stream_id = 'run'`,
    [runId],
  );
  return row;
};

/** How many rows each reading of the run's own stream brought. */
function counted(stack: Stack): number[] {
  const rows: number[] = [];
  const { streams } = stack.deps.store;
  const { read } = streams;
  (streams as { read: typeof read }).read = async (stream: StreamRef, after, limit) => {
    const events = await read(stream, after, limit);
    if (stream.streamId === "run") rows.push(events.length);
    return events;
  };
  return rows;
}

describe("a workflow that goes on for ever", () => {
  const LAST = 50;
  const task = async (ctx: Ctx): Promise<Json> => {
    const said = await ctx.ask("r", `round ${rounds(ctx)}`);
    return rounds(ctx) === LAST ? said : await ctx.continueAsNew(rounds(ctx) + 1);
  };

  test("50 times: each question is asked once, and no tick reads more than its own part", async () => {
    const model = createScriptedModel((r) => `re ${firstText(r)}`);
    const stack = t.stack([role("r")], workflow<Json>(task), { model });
    const rows = counted(stack);
    const { runId, row } = await started(stack);
    expect(row).toMatchObject({ status: "completed", output: `re round ${LAST}`, input: "x" });
    expect(model.ledger.map(({ request }) => firstText(request))).toEqual(
      Array.from({ length: LAST + 1 }, (_, n) => `round ${n}`),
    );
    // A part is RunCreated or RunContinued, WavePlanned, and what its tasks came to: a tick that begins it reads one row, the one that ends it two.
    expect(Math.max(...rows)).toBe(2);
    expect(rows.filter((n) => n === 1)).toHaveLength(LAST + 1);
    expect(await t.events(runId, "run")).toHaveLength((LAST + 1) * 4 + 1);
    expect(stack.appended.filter((a) => a.startsWith("run:")).slice(0, 5)).toEqual([
      "run: WavePlanned plan",
      "run: park",
      "run: TaskSettled WaveSettled RunContinued continue",
      "run: WavePlanned plan",
      "run: park",
    ]);
    expect(await own(runId)).toMatchObject({ sealed: LAST * 4, facts: LAST, inbox: LAST + 1 });
    const specs = await t.sql<{ task_id: string }>(`SELECT task_id FROM agent_${AGENT}.task_specs ORDER BY ordinal`);
    expect(specs.map((s) => s.task_id)).toEqual(Array.from({ length: LAST + 1 }, (_, n) => `w${n}t0`));
  });

  test("I1 I5: killed in its last part, it is taken up by whoever reads that part alone", async () => {
    const model = createScriptedModel((r) => `re ${firstText(r)}`);
    const hand = fate();
    const dying = t.stack([role("r")], workflow<Json>(task), {
      model: createScriptedModel(async (r) => {
        if (firstText(r) === "round 40") hand.dead = true;
        return `re ${firstText(r)}`;
      }),
      fate: hand,
    });
    const runId = await dying.start(AGENT, "x");
    await dying.drive({ agent: AGENT, runId });
    expect(hand.dead).toBe(true);
    await passTime(t.database, AGENT);
    const stack = t.stack([role("r")], workflow<Json>(task), { model });
    const rows = counted(stack);
    const row = await stack.drive({ agent: AGENT, runId });
    expect(row?.output).toBe(`re round ${LAST}`);
    expect(model.ledger.map(({ request }) => firstText(request))).toEqual(
      Array.from({ length: LAST - 39 }, (_, n) => `round ${n + 40}`),
    );
    expect(Math.max(...rows)).toBe(2);
  });
});

describe("what it leaves", () => {
  test("is stopped in the append that goes on: tasks, children, steps, timers; nobody hears of their ends", async () => {
    const stepped: string[] = [];
    const main = async (ctx: Ctx): Promise<Json> => {
      if (rounds(ctx) === 1) return await ctx.ask("r", "second part");
      const all = [
        ctx.ask("r", "hangs"),
        ctx.run("sub", null),
        ctx.sleep(86_400_000),
        ctx.step("slow", async ({ signal }) => {
          stepped.push("began");
          await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
          stepped.push("stopped");
        }),
      ];
      await Promise.race([...all, ctx.ask("r", "quick")]);
      return await ctx.continueAsNew(1);
    };
    const model = createScriptedModel(async (r, _, signal) => {
      if (firstText(r) !== "hangs") return `re ${firstText(r)}`;
      if (firstText(r) === "quick") await until(() => model.ledger.length >= 3 && stepped.length > 0);
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return "too late";
    });
    const sub = workflow<Json>(async (ctx) => await ctx.ask("r", "hangs"));
    const stack = t.stack([role("r")], workflow<Json>(main), { model, processes: { sub } });
    const { runId, row } = await started(stack);
    expect(row).toMatchObject({ status: "completed", output: "re second part" });
    expect(stepped).toEqual(["began", "stopped"]);
    expect(await children(runId)).toMatchObject([{ status: "cancelled" }]);
    const told = await t.sql(
      `SELECT stream_id, payload->>'reason' AS reason, payload->>'code' AS code FROM agent_${AGENT}.inbox WHERE kind = 'cancel' ORDER BY stream_id`,
    );
    expect(told).toEqual(
      expect.arrayContaining([
        { stream_id: "run", reason: "the run that started this one has gone on anew", code: "run.cancelled" },
        { stream_id: "task:w0t0", reason: "the run has gone on anew", code: "task.cancelled" },
      ]),
    );
    expect(await t.events(runId, "task:w0t0")).toContain("TaskCancelled");
  });

  test("signals that nobody has received stay there; what it takes is counted by the part", async () => {
    const main = async (ctx: Ctx): Promise<Json> => {
      await ctx.waitFor("go");
      if (rounds(ctx) < 2) return await ctx.continueAsNew(rounds(ctx) + 1);
      return [await ctx.waitFor("mail"), await ctx.waitFor("mail")];
    };
    const { stack } = family({ main });
    const { runId } = await started(stack);
    const send = (signal: string, value: Json) => sendSignal(stack.deps, { agent: AGENT, runId, signal, value });
    const drive = () => stack.drive({ agent: AGENT, runId });
    const big = "x".repeat(300_000); // it lies in a blob
    await send("mail", big);
    await send("go", 0);
    expect((await drive())?.status).toBe("waitingSignal");
    expect((await own(runId))?.facts).toBe(2);
    await send("mail", "second");
    await send("go", 1);
    await drive();
    expect((await t.payloads(runId, "RunContinued")).map((p) => [p.part, (p.signals as Json[]).length])).toEqual([
      [1, undefined], // it lies in a blob, with what it kept
      [2, undefined],
    ]);
    await t.sql(
      `UPDATE agent_${AGENT}.streams SET sealed_facts = sealed_facts - $1 WHERE run_id = $2 AND stream_id = 'run'`,
      [INBOX_FACTS_MAX - 1, runId],
    );
    expect(await send("go", 2)).toEqual({ type: "told" });
    expect(await send("go", 3)).toMatchObject({ type: "refused", error: { code: "signal.too_many" } });
    await t.sql(
      `UPDATE agent_${AGENT}.streams SET sealed_facts = sealed_facts + $1 WHERE run_id = $2 AND stream_id = 'run'`,
      [INBOX_FACTS_MAX - 1, runId],
    );
    expect((await drive())?.output).toEqual([big, "second"]);
  });

  test("a child that goes on anew is the same child; its parent hears of it when it ends", async () => {
    const { stack, model } = family({
      main: async (ctx: Ctx) => await ctx.run("sub", 0),
      sub: async (ctx: Ctx) => {
        const said = await ctx.ask("r", rounds(ctx));
        return rounds(ctx) === 2 ? [said] : await ctx.continueAsNew(rounds(ctx) + 1);
      },
    });
    const { runId, row } = await started(stack);
    expect(row?.output).toEqual(["re 2"]);
    expect(await children(runId)).toHaveLength(1);
    expect(model.ledger).toHaveLength(3);
    const [child] = await children(runId);
    expect((await t.payloads(child?.run_id ?? "", "RunContinued")).map((p) => p.parent)).toEqual(
      Array(2).fill({ run: runId, depth: 1 }),
    );
  });
});

describe("what is done to it from outside", () => {
  const polling = async (ctx: Ctx): Promise<Json> => {
    await ctx.ask("r", rounds(ctx));
    await ctx.sleep(3_600_000);
    return await ctx.continueAsNew(rounds(ctx) + 1);
  };
  const hours = async (stack: Stack, runId: string, n: number): Promise<void> => {
    for (let i = 0; i < n; i++) {
      await stack.drive({ agent: AGENT, runId });
      await t.sql(`UPDATE agent_${AGENT}.events SET payload = payload || '{"dueAt": 1}' WHERE type = 'TimerSet'`);
      await t.sql(`UPDATE agent_${AGENT}.streams SET wake_at = clock_timestamp() WHERE wake_at IS NOT NULL`);
    }
    await stack.drive({ agent: AGENT, runId });
  };

  test("a cancel ends it in whatever part it is", async () => {
    const { stack } = family({ main: polling });
    const { runId } = await started(stack);
    await hours(stack, runId, 2);
    expect(await t.payloads(runId, "RunContinued")).toHaveLength(2);
    await cancelRun(stack.deps, { agent: AGENT, runId, reason: "enough" });
    expect((await stack.drive({ agent: AGENT, runId }))?.status).toBe("cancelled");
  });

  test("a fork begins with the part that its source is in, and has its own steps; what is sealed can't be forked from", async () => {
    const keys: string[] = [];
    const main = async (ctx: Ctx): Promise<Json> => {
      await ctx.step("note", async ({ idempotencyKey }) => void keys.push(idempotencyKey));
      return await polling(ctx);
    };
    const { stack, model } = family({ main });
    const { runId } = await started(stack);
    await hours(stack, runId, 2);
    const fork = (from?: string) =>
      forkRun(stack.deps, { agent: AGENT, runId, by: "ann", rerun: true, ...(from === undefined ? {} : { from }) });
    expect(await fork("w0")).toMatchObject({
      type: "refused",
      error: { code: "fork.unknown_place", message: expect.stringContaining("is sealed") },
    });
    const whole = await fork();
    const again = await fork("w2");
    if (whole.type === "refused" || again.type === "refused") throw new Error("refused");
    const sealed = (await own(runId))?.sealed;
    expect([await own(whole.runId), await own(again.runId)]).toMatchObject([{ sealed }, { sealed }]);
    const asked = model.ledger.length;
    await stack.drive({ agent: AGENT, runId: again.runId });
    expect(model.ledger.slice(asked).map(({ request }) => firstText(request))).toEqual(["2"]); // not 0 and 1
    await hours(stack, whole.runId, 1);
    expect(await own(whole.runId)).toMatchObject({ facts: 3 });
    const parts = await t.payloads(whole.runId, "RunContinued");
    expect(parts.map((p) => p.part)).toEqual([1, 2, 3]);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("a retry goes on in the part that failed", async () => {
    const failing = (async (ctx: Ctx) => {
      const said = await ctx.ask("r", rounds(ctx));
      return rounds(ctx) === 2 ? said : await ctx.continueAsNew(rounds(ctx) + 1);
    }) as never;
    let broken = true;
    const model = createScriptedModel((r) => (broken && firstText(r) === "2" ? { status: 401 } : `re ${firstText(r)}`));
    const stack = t.stack([role("r")], workflow<Json>(failing), { model });
    const { runId, row } = await started(stack);
    expect(row?.status).toBe("failed");
    broken = false;
    expect(await retryRun(stack.deps, { agent: AGENT, runId, by: "ann" })).toEqual({ type: "told" });
    expect((await stack.drive({ agent: AGENT, runId }))?.output).toBe("re 2");
    expect(model.ledger.map(({ request }) => firstText(request))).toEqual(["0", "1", "2", "2"]);
  });

  test("I6 I6b: an edit cuts its last part alone, and nobody is asked about what an earlier one did", async () => {
    const { payer, paid } = paying();
    const code = (to: string) => async (ctx: Ctx) => {
      if (rounds(ctx) > 1) return await ctx.ask("r", "end");
      await ctx.ask("payer", to);
      await ctx.sleep(3_600_000);
      return await ctx.continueAsNew(rounds(ctx) + 1);
    };
    const respond = () =>
      createScriptedModel((r) =>
        r.messages.length === 1 && firstText(r) !== "end"
          ? { tools: [{ name: "pay", args: { to: firstText(r) } }] }
          : "ok",
      );
    const stack = t.stack([role("r"), payer], workflow<Json>(code("ann")), { model: respond() });
    const { runId } = await started(stack);
    await hours(stack, runId, 1); // in its second part, ann is paid twice
    stack.stop();
    const edited = t.stack([role("r"), payer], workflow<Json>(code("bob")), { model: respond(), generation: 2 });
    await t.sql(`UPDATE agent_${AGENT}.streams SET wake_at = clock_timestamp() WHERE wake_at IS NOT NULL`);
    expect((await edited.drive({ agent: AGENT, runId }))?.status).toBe("waitingCut"); // bob would be paid beside ann
    const [asked] = await t.payloads(runId, "CutRequested");
    expect((asked as { calls: string[] }).calls).toEqual(["w1t0: pay"]); // and w0t0 is nobody's question
    const decision = { agent: AGENT, runId, decision: "keep", by: "ann" } as const;
    expect(await decideCut(edited.deps, decision)).toEqual({ type: "told" });
    await hours(edited, runId, 1);
    expect((await edited.drive({ agent: AGENT, runId }))?.output).toBe("ok");
    expect(paid).toEqual(["ann", "ann"]);
  });
});
