// The database server dies and comes back while workers are at it.
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type EmbeddedDatabase, openEmbedded } from "../../shared/adapters/database/embedded.ts";
import { AGENT, alike, type Crew, createCrew, pause } from "./crew.ts";

let folder: string;
let database: EmbeddedDatabase;
let crew: Crew;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "toren-outage-"));
  await chmod(folder, 0o755);
  database = await openEmbedded(folder);
  crew = await createCrew(database.url);
}, 60_000);
afterAll(async () => {
  await crew.close();
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

test("kill -9 of the database server in the middle: the workers live, nothing acknowledged is lost, every run ends with the same output", async () => {
  const workers = [await crew.worker(), await crew.worker()];
  const runIds: string[] = [];
  for (let n = 1; n <= 4; n++) runIds.push(await crew.start(`order ${n}`));
  const answered = async () =>
    await crew.sql<{ id: string }>(
      `SELECT concat(run_id, ' ', stream_id, ' ', seq, ' ', payload) AS id FROM agent_${AGENT}.events WHERE type = 'LlmCallCompleted'`,
    );
  while ((await answered()).length < 3) await pause(10);
  const before = await answered();
  process.kill(database.pid(), "SIGKILL");
  const rows = await endedOnceItIsBack(runIds);
  expect(alike(rows)).toHaveLength(1);
  expect(rows[0]?.status).toBe("completed");
  const after = new Set((await answered()).map((row) => row.id));
  expect(before.filter((row) => !after.has(row.id))).toEqual([]);
  await crew.expectSound(runIds);
  expect(await crew.effects()).toHaveLength(3 * runIds.length);
  expect(workers.map((w) => w.ended())).toEqual([null, null]);
}, 90_000);

/** Whoever asks while it is away is told so. */
async function endedOnceItIsBack(runIds: readonly string[]) {
  for (const end = Date.now() + 60_000; ; await pause(100)) {
    try {
      return await crew.ended(runIds, 60_000);
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: "database.unavailable" });
      if (Date.now() > end) throw thrown;
    }
  }
}
