// Searches among more runs than are looked through first: the same answer whichever way it is found, and what it costs.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import { LIST_NEWEST_RUNS } from "../../../shared/core/limits.ts";
import type { RunFilter } from "../../../shared/ports/store.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

const RUNS = LIST_NEWEST_RUNS + 500;
const RARE = 50;

let db: TestDatabase;
const asked: string[] = [];
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, ["many"]);
  await db.database.pool.query(
    `INSERT INTO agent_many.runs (run_id, process, input, generation, code_hash, request_digest, ended, created_at)
     SELECT gen_random_uuid(), CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END, '1', 1, 'h', 'd', CASE WHEN n % 10 = 0 THEN 'failed' ELSE 'completed' END,
            timestamptz '2026-01-01' + n * interval '1 s' FROM generate_series(1, $1) n`,
    [RUNS],
  );
  await db.database.pool.query(
    `INSERT INTO agent_many.run_terms SELECT run_id, array_to_tsvector(ARRAY['common', 'n' || extract(epoch FROM created_at - '2026-01-01')::int % $1])
     FROM agent_many.runs`,
    [RARE],
  );
});
afterAll(() => db.drop());

const store = () => {
  const pool = Object.assign(Object.create(db.database.pool), {
    query: (q: { text: string }) => {
      if (/run_terms/.test(q.text)) asked.push(/LIMIT \$9/.test(q.text) ? "newest" : "all");
      return db.database.pool.query(q);
    },
  });
  return createStore({ appends: db.database.appends, pool });
};
const pages = async (filter: Omit<RunFilter, "limit">, limit: number): Promise<string[]> => {
  const found: string[] = [];
  for (let before: string | undefined; ; ) {
    const page = await store().runs.list({ ...filter, limit, ...(before === undefined ? {} : { before }) });
    found.push(...page.runs.map((run) => run.runId));
    if (page.next === null) return found;
    before = page.next;
  }
};
const expected = async (where: string): Promise<string[]> =>
  (
    await db.database.pool.query(`SELECT r.run_id FROM agent_many.runs r JOIN agent_many.run_terms t USING (run_id) WHERE ${where}
      ORDER BY r.created_at DESC, r.run_id DESC`)
  ).rows.map((row) => row.run_id);

test.each([
  [{ text: "common" }, "true"],
  [{ text: "common", process: "even" }, "process = 'even'"],
  [{ text: "common", statuses: ["failed" as const] }, "status = 'failed'"],
  [{ text: "n7" }, "terms @@ 'n7'"],
  [{ text: "common n7" }, "terms @@ 'n7'"],
  [{ text: "common", since: Date.parse("2026-01-01T00:20:00Z") }, "created_at >= '2026-01-01T00:20:00Z'"],
])("%j: every run once, newest first, over all pages", async (filter, where) => {
  const want = await expected(where);
  expect(want.length).toBeGreaterThan(20);
  expect(await pages(filter, 200)).toEqual(want);
});

test("what many have is found among the newest; the index of words is asked for what few have alone", async () => {
  asked.length = 0;
  expect((await store().runs.list({ text: "common", limit: 50 })).runs).toHaveLength(50);
  expect(asked).toEqual(["newest"]);
  asked.length = 0;
  expect((await store().runs.list({ text: "n7", limit: 50 })).runs).toHaveLength(RUNS / RARE);
  expect(asked).toEqual(["newest", "all"]);
});
