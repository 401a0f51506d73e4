// Workers as processes, killed as machines die: SIGKILL at random moments, and SIGSTOP past the lease. KILL_SEED repeats the moments, as far as a machine does.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Worker } from "../../local/worker-process.ts";
import { GUARDIAN_EVERY_MS } from "../../shared/core/limits.ts";
import { until } from "../engine/support.ts";
import { createRandom } from "../sim/random.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { AGENT, alike, type Crew, createCrew, LEASE_MS, pause } from "./crew.ts";

const KILLS = 20;
/** Bounds are lease + guardian's round; this is for a busy machine that starts and wakes processes late. */
const SLACK_MS = 10_000;
const SEED = Number(process.env.KILL_SEED ?? Math.floor(Math.random() * 1e6));

let db: TestDatabase;
let crew: Crew;
beforeAll(async () => {
  db = await testDatabase();
  crew = await createCrew(db.url);
});
afterAll(async () => {
  await crew.close();
  await db.drop();
});

test(`kill -9 of workers at ${KILLS} random moments or more, two alive at any time: every run ends with the same output, no recorded answer is paid again`, async () => {
  console.log(`kill -9: KILL_SEED=${SEED}`);
  const random = createRandom(SEED);
  const runIds: string[] = [];
  const begin = async (): Promise<void> => void runIds.push(await crew.start(`order ${runIds.length + 1}`));
  const working = [await crew.worker(), await crew.worker()];
  for (let n = 0; n < 4; n++) await begin();
  // The kills must have hit something: tasks that had to be taken over.
  const hits = async (): Promise<number> =>
    (
      await crew.sql<{ streams: number }>(
        `SELECT count(*)::int AS streams FROM agent_${AGENT}.events WHERE type = 'TaskStarted' AND (payload->>'attempt')::int > 1`,
      )
    )[0]?.streams ?? 0;
  let kills = 0;
  for (; kills < KILLS || (await hits()) <= KILLS / 4; kills++) {
    const heir = crew.worker();
    await pause(random.int(400));
    working.push(await heir);
    if ((await Promise.all(runIds.map(crew.run))).filter((row) => row.endedAt === null).length < 3) await begin();
    await pause(random.int(300));
    const [victim] = working.splice(random.int(2), 1) as [Worker];
    await victim.kill();
    expect([working.length, victim.ended(), working.map((w) => w.ended())]).toEqual([2, "SIGKILL", [null, null]]);
  }
  const rows = await crew.ended(runIds, 45_000);
  expect(alike(rows)).toHaveLength(1);
  expect(rows[0]).toMatchObject({ status: "completed", output: expect.stringContaining("stamped 3") });
  await crew.expectSound(runIds);
  expect(await crew.effects()).toHaveLength(3 * runIds.length);
  const hit = await hits();
  console.log(`${kills} kills over ${runIds.length} runs: ${hit} tasks were taken over`);
  expect(hit).toBeGreaterThan(KILLS / 4);
  await Promise.all(working.map((w) => w.end()));
}, 120_000);

describe("a worker that is paused past its lease", () => {
  const inFlight = async (runId: string): Promise<boolean> =>
    (
      await crew.sql(
        `SELECT FROM agent_${AGENT}.events e WHERE run_id = $1 AND type = 'LlmCallStarted' AND stream_id LIKE 'task:%' AND NOT EXISTS (
           SELECT FROM agent_${AGENT}.events l WHERE l.run_id = e.run_id AND l.stream_id = e.stream_id AND l.seq > e.seq)`,
        [runId],
      )
    ).length > 0;

  test("I12: another takes over within its lease + the guardian's round; what it says when it goes on is refused, the log is one", async () => {
    const zombie = await crew.worker();
    const runId = await crew.start("order of a zombie");
    while (!(await inFlight(runId))) await pause(5);
    process.kill(zombie.pid, "SIGSTOP");
    const heir = await crew.worker();
    const [stopped] = await crew.sql<{ at: Date }>("SELECT clock_timestamp() AS at");
    const taken = async () =>
      await crew.sql<{ stream: string; after: number }>(
        `SELECT DISTINCT ON (stream_id) stream_id AS stream, extract(epoch FROM recorded_at - $2)::float8 * 1000 AS after FROM agent_${AGENT}.events
         WHERE run_id = $1 AND recorded_at > $2 ORDER BY stream_id, seq`,
        [runId, stopped?.at],
      );
    while ((await taken()).length === 0) await pause(20);
    process.kill(zombie.pid, "SIGCONT");
    const [row] = await crew.ended([runId], 30_000);
    expect(row).toMatchObject({ status: "completed" });
    for (const { after } of await taken()) expect(after).toBeLessThan(LEASE_MS + GUARDIAN_EVERY_MS + SLACK_MS);
    // The run may have ended before the zombie came to say anything.
    await until(
      async () => (await crew.logged()).some((line) => line.worked === "lost" && line.runId === runId),
      30_000,
    );
    await crew.expectSound(await allRuns());
    expect(zombie.ended()).toBeNull();
    await Promise.all([zombie.end(), heir.end()]);
  }, 60_000);

  test("take-over of a killed worker's streams within lease + 5 s, by the database's clock", async () => {
    const heir = await crew.worker();
    process.kill(heir.pid, "SIGSTOP"); // it comes to no work of the victim's
    const victim = await crew.worker();
    const runId = await crew.start("order of a dead man");
    while (!(await inFlight(runId))) await pause(5);
    await victim.kill();
    const left = await crew.sql<{ stream: string; head: number; at: Date }>(
      `SELECT stream_id AS stream, head_seq::int AS head, clock_timestamp() AS at FROM agent_${AGENT}.streams WHERE run_id = $1 AND status = 'running'`,
      [runId],
    );
    expect(left.length).toBeGreaterThan(0);
    process.kill(heir.pid, "SIGCONT");
    await crew.ended([runId], 40_000);
    for (const { stream, head, at } of left) {
      const [next] = await crew.sql<{ after: number }>(
        `SELECT extract(epoch FROM recorded_at - $4)::float8 * 1000 AS after FROM agent_${AGENT}.events WHERE run_id = $1 AND stream_id = $2 AND seq = $3 + 1`,
        [runId, stream, head, at],
      );
      expect(next?.after).toBeLessThan(LEASE_MS + GUARDIAN_EVERY_MS + SLACK_MS);
    }
    await heir.end();
  }, 60_000);

  const allRuns = async (): Promise<string[]> =>
    (await crew.sql<{ id: string }>(`SELECT run_id AS id FROM agent_${AGENT}.runs`)).map((row) => row.id);
});
