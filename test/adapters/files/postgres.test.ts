import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createPostgresFiles } from "../../../shared/adapters/files/postgres.ts";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { inSchema, schemaOf } from "../../../shared/adapters/store/statements.ts";
import { QUERIES } from "../../../shared/sql/queries.ts";
import { filesConformance } from "../../conformance/files.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

const AGENTS = ["first", "second"];
let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, AGENTS);
});
afterAll(() => db.drop());

filesConformance("files in Postgres", () => createPostgresFiles(db.database));

describe("removing a file that runs have", () => {
  const added = (name: string) =>
    createPostgresFiles(db.database).add({ name, mediaType: "text/plain", content: Buffer.from(name) });
  const createRun = (agent: string, runId: string, files: readonly string[]): [string, unknown[]] => [
    inSchema(QUERIES["create-run"], schemaOf(agent)),
    [
      runId,
      "main",
      "{}",
      1,
      "code",
      null,
      "digest",
      "{}",
      files,
      agent,
      30_000,
      "task",
      null,
      null,
      null,
      null,
      [],
      null,
      null,
      null,
    ],
  ];
  const remove = (id: string) => createPostgresFiles(db.database).remove(id);

  test("waits for the end of the last of them, whichever agent's it is", async () => {
    const { id } = await added("held");
    const runs = AGENTS.map((agent) => ({ agent, runId: randomUUID() }));
    for (const { agent, runId } of runs) await db.database.pool.query(...createRun(agent, runId, [id]));
    for (const run of runs) {
      expect(await remove(id)).toEqual({ type: "attached", ...run });
      await db.database.pool.query(
        `UPDATE ${schemaOf(run.agent)}.runs SET ended = 'completed', ended_at = clock_timestamp() WHERE run_id = $1`,
        [run.runId],
      );
    }
    expect(await remove(id)).toEqual({ type: "removed" });
  });

  test("a run that is being created at the same time keeps its file", async () => {
    const { id } = await added("raced");
    const runId = randomUUID();
    const creator = await db.database.pool.connect();
    await creator.query("BEGIN");
    await creator.query(...createRun("second", runId, [id, id]));
    let answered = false;
    const removing = remove(id).finally(() => {
      answered = true;
    });
    for (let n = 0; n < 20 && !answered; n++) await new Promise((resolve) => setTimeout(resolve, 10));
    const answeredBefore = answered;
    await creator.query("COMMIT");
    creator.release();
    expect(answeredBefore).toBe(false);
    expect(await removing).toEqual({ type: "attached", agent: "second", runId });
    expect(await createPostgresFiles(db.database).list([id])).toHaveLength(1);
  });
});
