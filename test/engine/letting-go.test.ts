// How a worker lets go: of streams whose log kills it, of chains of steps, of leases among locked rows, of its timers.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { guard } from "../../shared/engine/guard.ts";
import { createLeaseKeeper } from "../../shared/engine/lease-keeper.ts";
import { runTick } from "../../shared/engine/run-tick.ts";
import type { StreamStore } from "../../shared/ports/store.ts";
import { role, workflow } from "../support/agents.ts";
import { silentLog } from "../support/log.ts";
import { AGENT, type EngineTest, engineTest } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

const always = (stop = new AbortController().signal, solo = false) => ({
  solo,
  remainingMs: () => Number.POSITIVE_INFINITY,
  stop,
});
const model = createScriptedModel(() => "x");

describe("a worker lets go", () => {
  test("of a run whose log can't be read: three deaths alone end it without a look into it", async () => {
    const stack = t.stack(
      [role("r")],
      workflow(async () => "never"),
      { model },
    );
    const runId = await stack.start(AGENT, "x");
    await t.sql(`UPDATE agent_${AGENT}.streams SET attempts = 6, solo_attempts = 3 WHERE run_id = $1`, [runId]);
    const streams: StreamStore = {
      ...stack.deps.store.streams,
      read: () => Promise.reject(new Error("too much for this worker")),
    };
    const deps = { ...stack.deps, store: { ...stack.deps.store, streams } };
    expect(await runTick(deps, { agent: AGENT, runId, taskId: null }, always(undefined, true))).toBe("ended");
    expect((await stack.deps.store.runs.get(AGENT, runId))?.error?.code).toBe("crash_loop");
  });

  test("of a lease, when the first read fails", async () => {
    const stack = t.stack(
      [role("r")],
      workflow(async () => "x"),
      { model },
    );
    const runId = await stack.start(AGENT, "x");
    const streams: StreamStore = { ...stack.deps.store.streams, read: () => Promise.reject(new Error("no")) };
    const deps = { ...stack.deps, store: { ...stack.deps.store, streams } };
    await expect(runTick(deps, { agent: AGENT, runId, taskId: null }, always())).rejects.toThrow("no");
    expect(
      await t.sql(`SELECT 1 FROM agent_${AGENT}.streams WHERE run_id = $1 AND lease_owner IS NOT NULL`, [runId]),
    ).toEqual([]);
  });

  test("of a chain of steps, after the one that runs when it is asked to stop", async () => {
    const stop = new AbortController();
    const ran: number[] = [];
    const chain = workflow(async (ctx) => {
      for (let i = 0; i < 6; i++) {
        await ctx.step(`s${i}`, async () => {
          ran.push(i);
          if (i === 1) stop.abort();
        });
      }
      return "done";
    });
    const stack = t.stack([role("r")], chain, { model });
    const runId = await stack.start(AGENT, "x");
    expect(await runTick(stack.deps, { agent: AGENT, runId, taskId: null }, always(stop.signal))).toBe("handedOver");
    expect(ran).toEqual([0, 1]);
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed", output: "done" });
    expect(ran).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test("of no lease because another stream's row is locked", async () => {
    const stack = t.stack(
      [role("r")],
      workflow(async () => "x"),
      { model },
    );
    const take = async () => {
      const runId = await stack.start(AGENT, "x");
      const acquired = await stack.deps.store.streams.acquire(
        { agent: AGENT, runId, streamId: "run" },
        { owner: crypto.randomUUID(), generation: 1, leaseMs: 1_000, solo: false },
      );
      if (acquired.type !== "acquired") throw new Error(acquired.type);
      return acquired.lease;
    };
    const [locked, free] = [await take(), await take()];
    const ends = async (runId: string) =>
      (
        await t.sql<{ ends: number }>(
          `SELECT extract(epoch FROM lease_until)::float8 AS ends FROM agent_${AGENT}.streams WHERE run_id = $1`,
          [runId],
        )
      )[0]?.ends ?? 0;
    const before = await ends(free.stream.runId);
    const answers = await t.whileLocked(
      `SELECT 1 FROM agent_${AGENT}.streams WHERE run_id = '${locked.stream.runId}' FOR UPDATE`,
      () => stack.deps.store.streams.renew([locked, free], 60_000),
    );
    expect(answers.map((a) => a.held)).toEqual([true, true]);
    expect(await ends(free.stream.runId)).toBeGreaterThan(before + 30);
  });

  test("of its timers: taking up leases again during a beat leaves one heartbeat", async () => {
    let beats = 0;
    const renew: StreamStore["renew"] = async (leases) => {
      beats++;
      await new Promise((r) => setTimeout(r, 20));
      return leases.map(() => ({ held: true, inboxSeq: 0, now: 0, watched: false }));
    };
    const keeper = createLeaseKeeper({ renew } as StreamStore, 300, silentLog);
    const holder = { lease: {} as never, onInbox: () => {}, onLost: () => {} };
    for (let i = 0; i < 5; i++) {
      const release = keeper.hold({ ...holder });
      await new Promise((r) => setTimeout(r, 110)); // a beat is under way
      release();
    }
    const last = keeper.hold({ ...holder });
    beats = 0;
    await new Promise((r) => setTimeout(r, 650));
    expect(beats).toBeLessThanOrEqual(7);
    last();
    keeper.close();
  });

  test("I10: of no agent because another one's schema is broken", async () => {
    const stack = t.stack(
      [role("r")],
      workflow(async () => "x"),
      { model },
    );
    await stack.start(AGENT, "x");
    await t.sql(`UPDATE agent_${AGENT}.streams SET wake_at = clock_timestamp()`);
    await t.sql("DELETE FROM toren_control.queue_messages");
    const agents = { ...stack.deps.agents, names: () => ["broken", AGENT] };
    await expect(guard({ ...stack.deps, agents })).rejects.toThrow();
    expect(await t.sql("SELECT 1 FROM toren_control.queue_messages")).toHaveLength(1);
  });
});
