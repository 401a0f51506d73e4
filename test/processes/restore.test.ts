// A database that was dumped while runs were at work, restored somewhere else: runs are where the dump has them, and go on. The tools are the system's.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { withAdmin, withDatabase } from "../../local/testing/database-server.ts";
import { openUrl } from "../../shared/adapters/database/url.ts";
import { migrate } from "../../shared/adapters/store/migrate.ts";
import { checkLog, dumpDatabase } from "../support/log-checker.ts";
import { type Dumpable, dumpableServer, findTools, tool } from "../support/postgres-tools.ts";
import { AGENT, alike, type Crew, createCrew, pause } from "./crew.ts";

const tools = findTools();
const suffix = `${Math.floor(Date.now() / 1_000)}_${process.pid}`;
const [lost, restored] = [`toren_test_${suffix}_lost`, `toren_test_${suffix}_restored`];
let server: Dumpable;
let folder: string;
const crews: Crew[] = [];

beforeAll(async () => {
  if (tools === null) return;
  folder = await mkdtemp(join(tmpdir(), "toren-restore-"));
  server = await dumpableServer(tools);
  await withAdmin(server.url, async (admin) => {
    for (const name of [lost, restored]) await admin.query(`CREATE DATABASE ${name}`);
  });
  const database = await openUrl(withDatabase(server.url, lost));
  await migrate(database, []);
  await database.close();
});
afterAll(async () => {
  for (const crew of crews) await crew.close();
  if (tools === null) return;
  await withAdmin(server.url, async (admin) => {
    for (const name of [lost, restored]) await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const answers = async (crew: Crew): Promise<number> =>
  (
    await crew.sql<{ n: number }>(
      `SELECT count(*)::int AS n FROM agent_${AGENT}.events WHERE type = 'LlmCallCompleted'`,
    )
  )[0]?.n ?? 0;

// Where a system has no Postgres of its own there is nothing to dump with.
(tools === null ? test.skip : test)(
  "pg_dump while runs are at work, pg_restore into a new database: they go on there, pay for what came after the dump alone, and repeat effects under the same keys",
  async () => {
    if (tools === null) return;
    const crew = await createCrew(withDatabase(server.url, lost));
    crews.push(crew);
    const worker = await crew.worker();
    const runIds = await Promise.all(["first", "second", "third"].map((n) => crew.start(`order ${n}`)));
    while ((await answers(crew)) < 4) await pause(5);
    const file = join(folder, "toren.dump");
    await tool(tools, "pg_dump", ["--format=custom", `--file=${file}`, withDatabase(server.url, lost)]);
    // What happens now, the restored one knows nothing of.
    const before = await crew.ended(runIds, 60_000);
    const charged = new Set(await crew.effects());
    expect(charged.size).toBe(3 * runIds.length);
    await worker.kill();

    await tool(tools, "pg_restore", [`--dbname=${withDatabase(server.url, restored)}`, "--exit-on-error", file]);
    const heir = await createCrew(withDatabase(server.url, restored));
    crews.push(heir);
    const rows = await Promise.all(runIds.map(heir.run));
    expect(rows.some((row) => row.endedAt === null)).toBe(true);
    const known = await answers(heir);
    expect(known).toBeGreaterThanOrEqual(4);
    const next = await heir.worker();
    const after = await heir.ended(runIds, 60_000);
    expect(alike(after)).toEqual(alike(before));
    expect(checkLog(await dumpDatabase(heir.laptop.database.pool, AGENT))).toEqual([]);
    const asked = new Set(
      (await heir.ledger()).filter(({ status }) => status === 200).map((entry) => entry.requestDigest),
    );
    expect(asked.size).toBe((await answers(heir)) - known);
    for (const key of await heir.effects()) expect(charged).toContain(key);
    await next.end();
  },
  180_000,
);
