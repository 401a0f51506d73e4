// Sessions of many turns, and many sessions: what a turn costs doesn't grow with what was said before, and a parked session costs nothing (I6a, I10).
// LONG_SESSIONS=1 tries them at full size: 2,000 turns, and 100 sessions of 20.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { createScriptedModel, type ScriptedModel } from "../../shared/adapters/model/script.ts";
import { guard } from "../../shared/engine/guard.ts";
import { sendMessage } from "../../shared/engine/speak-to-task.ts";
import { role } from "../support/agents.ts";
import { AGENT, type EngineTest, engineTest } from "./support.ts";

const FULL = process.env.LONG_SESSIONS !== undefined;
const TURNS = FULL ? 2_000 : 400;
const SESSIONS = FULL ? { count: 100, turns: 20 } : { count: 10, turns: 4 };
const TIMEOUT_MS = FULL ? 900_000 : 60_000;

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

const CHAT = { kind: "session", role: "main" } as const;
const say = (runId: string, text: string, close = false) => ({ agent: AGENT, runId, text, close, steer: false });

/** Every statement of every worker, from now on. */
function countStatements(): { count: number } {
  const counted = { count: 0 };
  for (const pool of [t.database.pool, t.database.appends]) {
    const query = pool.query.bind(pool) as (...args: unknown[]) => unknown;
    Object.assign(pool, {
      query: (...args: unknown[]) => {
        counted.count++;
        return query(...args);
      },
    });
  }
  return counted;
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** What was asked, without keeping it: a ledger of 2,000 questions would be what grows. */
function forgetful(model: ScriptedModel): { take(): { questions: number; longest: number } } {
  const ledger = model.ledger as ScriptedModel["ledger"][number][];
  return {
    take: () => {
      const longest = Math.max(0, ...ledger.map((entry) => entry.request.messages.length));
      return { questions: ledger.splice(0).length, longest };
    },
  };
}

test(
  `a session of ${TURNS} turns with compaction: each turn asks once, and the last ones cost what the first ones did`,
  async () => {
    const model = createScriptedModel((r) =>
      JSON.stringify(r.messages.at(-1)).includes("will go on from a summary")
        ? "much was said"
        : `re ${"word ".repeat(20)}`,
    );
    const asked = forgetful(model);
    const stack = t.stack([role("main", { contextWindow: 2_000, maxTokens: 100 })], CHAT, { model });
    const { read } = stack.deps.store.streams;
    let events = 0;
    Object.assign(stack.deps.store.streams, {
      read: async (...args: Parameters<typeof read>) => {
        const found = await read(...args);
        events += found.length;
        return found;
      },
    });
    const runId = await stack.start(AGENT, "a");
    const at = { agent: AGENT, runId };
    await stack.drive(at);
    const took: number[] = [];
    const heap: number[] = [];
    let questions = asked.take().questions;
    for (let n = 1; n < TURNS; n++) {
      events = 0;
      const begun = performance.now();
      await sendMessage(stack.deps, say(runId, `message ${n}`));
      await stack.drive(at);
      took.push(performance.now() - begun);
      expect(events).toBeLessThan(70);
      const turn = asked.take();
      expect(turn.longest).toBeLessThan(60);
      questions += turn.questions;
      if (n % (TURNS / 4) === 0 || n === TURNS - 1) heap.push(heapBytes());
    }
    const compacted = (await t.payloads(runId, "ContextCompacted")).length;
    expect(compacted).toBeGreaterThan(10);
    expect(questions).toBe(TURNS + compacted);
    const [row] = await t.sql<{ bytes: number }>(
      `SELECT length(state::text) AS bytes FROM agent_${AGENT}.snapshots WHERE run_id = $1`,
      [runId],
    );
    expect(row?.bytes).toBeLessThan(20_000);

    const some = TURNS / 8;
    const [early, late] = [median(took.slice(some, 2 * some)), median(took.slice(-some))];
    const grownBytes = (heap.at(-1) ?? 0) - (heap[0] ?? 0); // after a quarter of the turns all code has been met
    console.log(
      `${TURNS} turns: ${early.toFixed(1)} ms a turn in the second eighth, ${late.toFixed(1)} in the last; heap ${heap.map((b) => (b / 1e6).toFixed(1)).join(", ")} MB; ${compacted} summaries`,
    );
    expect(late).toBeLessThan(2 * early);
    expect(grownBytes).toBeLessThan(6e6);

    await t.sql(`DELETE FROM agent_${AGENT}.snapshots`); // a cache: without it the log says the same
    await sendMessage(stack.deps, say(runId, "bye", true));
    expect((await stack.drive(at))?.status).toBe("completed");
    expect(asked.take().questions).toBeLessThanOrEqual(2);
  },
  TIMEOUT_MS,
);

test(
  `I6a: editing the prompt under ${SESSIONS.count} parked sessions of ${SESSIONS.turns} turns asks nothing until the next message, then once each`,
  async () => {
    const statements = countStatements();
    const worker = (system: string, generation: number) => {
      const model = createScriptedModel((r) => `${system} ${r.messages.length}`);
      return { model, stack: t.stack([role("main", { system })], CHAT, { model, generation }) };
    };
    const first = worker("Be kind.", 1);
    const rest = async (): Promise<number> => {
      const before = statements.count;
      expect(await guard(first.stack.deps)).toEqual({ nudged: 0 });
      return statements.count - before;
    };
    const none = await rest();
    const runIds: string[] = [];
    for (let i = 0; i < SESSIONS.count; i++) runIds.push(await first.stack.start(AGENT, `hello ${i}`));
    const at = { agent: AGENT, runId: runIds[0] ?? "" };
    await first.stack.drive(at, { timeoutMs: TIMEOUT_MS });
    for (let turn = 1; turn < SESSIONS.turns; turn++) {
      await Promise.all(runIds.map((runId) => sendMessage(first.stack.deps, say(runId, `message ${turn}`))));
      await first.stack.drive(at, { timeoutMs: TIMEOUT_MS }); // until nothing moves, in any run
    }
    expect(first.model.ledger).toHaveLength(SESSIONS.count * SESSIONS.turns);

    // I10: parked, nobody holds a lease, has a clock or a hint; a guardian's pass over them costs what one over nothing does.
    expect(await rest()).toBe(none);
    const [parked] = await t.sql(
      `SELECT count(*)::int AS streams, count(*) FILTER (WHERE status = 'parked')::int AS parked, count(lease_owner)::int AS leases,
         count(wake_at)::int AS clocks, (SELECT count(*)::int FROM toren_control.queue_messages) AS hints FROM agent_${AGENT}.streams`,
    );
    const streams = 2 * SESSIONS.count;
    expect(parked).toEqual({ streams, parked: streams, leases: 0, clocks: 0, hints: 0 });
    first.stack.stop();

    const edited = worker("Be brief.", 2);
    await edited.stack.deps.queue.send(
      runIds.map((runId) => ({ queue: "tasks-short", hint: { agent: AGENT, runId, taskId: "w0t0" } })),
    );
    await edited.stack.drive(at, { timeoutMs: TIMEOUT_MS });
    expect(edited.stack.worked).toHaveLength(SESSIONS.count);
    expect(edited.model.ledger).toHaveLength(0);
    await Promise.all(runIds.map((runId) => sendMessage(edited.stack.deps, say(runId, "more"))));
    await edited.stack.drive(at, { timeoutMs: TIMEOUT_MS });
    expect(edited.model.ledger).toHaveLength(SESSIONS.count);
    for (const { request } of edited.model.ledger) {
      expect(request.system).toMatch(/^Be brief\./);
      expect(request.messages).toHaveLength(2 * SESSIONS.turns + 1);
    }
    const cuts = await t.sql(`SELECT FROM agent_${AGENT}.events WHERE type = 'StreamInvalidated'`);
    expect(cuts).toEqual([]);
  },
  TIMEOUT_MS,
);
