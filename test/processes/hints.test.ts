// I9: any message may be lost, doubled, delayed or reordered. And many workers at once, each with connections of its own: no deadlock.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { startWork, type Work } from "../../local/work.ts";
import { openUrl } from "../../shared/adapters/database/url.ts";
import { createPostgresQueue } from "../../shared/adapters/queue/postgres.ts";
import { migrate } from "../../shared/adapters/store/migrate.ts";
import { guard } from "../../shared/engine/guard.ts";
import type { Database } from "../../shared/ports/database.ts";
import type { Outgoing, Queue } from "../../shared/ports/queue.ts";
import { hurried } from "../kill-matrix/hurry.ts";
import { SCENARIOS } from "../kill-matrix/scenarios.ts";
import { AGENT, type Scenario, type World, worldOf } from "../kill-matrix/world.ts";
import { createRandom, type Random } from "../sim/random.ts";
import { serving } from "../support/agents.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { silentLog } from "../support/log.ts";
import { checkLog, dumpDatabase } from "../support/log-checker.ts";
import { createStack, emptied, type Stack } from "../support/stack.ts";
import { pause } from "./crew.ts";

const SEED = Number(process.env.HINTS_SEED ?? Math.floor(Math.random() * 1e6));
let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, [AGENT]);
});
beforeEach(() => emptied(db.database, AGENT));
afterAll(() => db.drop());

/** The laptop's worker over a test's stack, its guardian looking more often than it would. */
interface Worker {
  readonly stack: Stack;
  close(): Promise<void>;
}
function workerOf(database: Database, scenario: Scenario, world: World, wrap: (queue: Queue) => Queue): Worker {
  const stack = createStack({ database, agents: serving(scenario.agent(world)), model: world.model });
  const queue = createPostgresQueue({ database, log: silentLog });
  const engine = { ...stack.deps, queue: wrap(queue) };
  const work: Work = startWork({ engine, database }, silentLog);
  const guardian = setInterval(() => void guard(engine).catch(() => {}), 200);
  return {
    stack,
    close: async () => {
      clearInterval(guardian);
      await work.close();
      stack.stop();
      await queue.close();
    },
  };
}

const LOST = 0.3;
const DELAY_MAX_MS = 250;
interface Counts {
  sent: number;
  lost: number;
}
/** The real queue, on a bad day: each message is lost, or comes twice, both late by a random time, so in any order. */
const unreliable =
  (random: Random, counts: Counts) =>
  (queue: Queue): Queue => ({
    ...queue,
    send: async (messages) => {
      const kept = messages.filter(() => !random.chance(LOST));
      counts.sent += messages.length;
      counts.lost += messages.length - kept.length;
      const late = ({ dedupeKey: _, ...message }: Outgoing): Outgoing => ({
        ...message,
        delayMs: (message.delayMs ?? 0) + random.int(DELAY_MAX_MS),
      });
      await queue.send(kept.flatMap((message) => [late(message), late(message)]));
    },
  });

async function endedRuns(runIds: readonly string[], timeoutMs: number) {
  const query = `SELECT run_id AS id, status, output FROM agent_${AGENT}.runs WHERE run_id = ANY ($1) AND ended_at IS NULL`;
  for (const end = Date.now() + timeoutMs; ; await pause(50)) {
    const { rows } = await db.database.pool.query(query, [runIds]);
    if (rows.length === 0) break;
    if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms: ${JSON.stringify(rows)}`);
  }
  const { rows } = await db.database.pool.query<{ status: string; output: unknown; error: unknown }>(
    `SELECT status, output, error FROM agent_${AGENT}.runs WHERE run_id = ANY ($1)`,
    [runIds],
  );
  return rows;
}

const scenario = (name: string): Scenario => {
  const found = SCENARIOS.find((s) => s.name.startsWith(name));
  if (found === undefined) throw new Error(`no scenario "${name}"`);
  return found;
};

describe("I9: every message doubled, reordered and delayed, 30 % lost", () => {
  test.each(["a task with tools", "three waves", "a failing wave under fail", "a timer"])(
    "same outputs: %s",
    async (name) => {
      console.log(`hints: HINTS_SEED=${SEED}`);
      const world = worldOf(scenario(name));
      const counts: Counts = { sent: 0, lost: 0 };
      const wrap = unreliable(createRandom(SEED), counts);
      const workers = [0, 1].map(() => workerOf(db.database, scenario(name), world, wrap));
      const hurry = hurried(db.database, AGENT);
      const runIds: string[] = [];
      for (let n = 0; n < 5; n++) runIds.push((await workers[0]?.stack.start(AGENT, scenario(name).input)) ?? "");
      const rows = await endedRuns(runIds, 25_000);
      await hurry.stop();
      for (const worker of workers) await worker.close();
      const { status, output, keyedEffects } = scenario(name);
      expect(rows).toEqual(runIds.map(() => ({ status, output, error: null })));
      expect(world.byKey.size).toBe(5 * keyedEffects);
      expect(checkLog(await dumpDatabase(db.database.pool, AGENT), world.books())).toEqual([]);
      expect(counts.lost).toBeGreaterThan(counts.sent / 10);
    },
    40_000,
  );
});

test.each(["three waves", "a failing wave under fail", "a timer"])(
  "four workers, each with connections of its own, on 30 runs: all end, without a deadlock: %s",
  async (name) => {
    const deadlocks = async (): Promise<number> =>
      (
        await db.database.pool.query<{ n: number }>(
          "SELECT deadlocks::int AS n FROM pg_stat_database WHERE datname = current_database()",
        )
      ).rows[0]?.n ?? -1;
    const before = await deadlocks();
    const chosen = scenario(name);
    const world = worldOf(chosen);
    const databases = await Promise.all([1, 2, 3, 4].map(() => openUrl(db.url)));
    const workers = databases.map((database) => workerOf(database, chosen, world, (queue) => queue));
    const runIds = await Promise.all(
      Array.from({ length: 30 }, async (_, n) => (await workers[n % 4]?.stack.start(AGENT, chosen.input)) ?? ""),
    );
    const rows = await endedRuns(runIds, 60_000);
    for (const worker of workers) await worker.close();
    for (const database of databases) await database.close(); // a server's process reports its statistics when it ends
    expect(rows).toEqual(runIds.map(() => ({ status: "completed", output: chosen.output, error: null })));
    expect(checkLog(await dumpDatabase(db.database.pool, AGENT), world.books())).toEqual([]);
    for (const { stack } of workers) expect(stack.appended.length).toBeGreaterThan(30); // none was left out
    await pause(200);
    expect(await deadlocks()).toBe(before);
  },
  80_000,
);
