import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openUrl } from "../../../shared/adapters/database/url.ts";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import type { Wait } from "../../../shared/ports/store.ts";
import { type Bench, createBench, event, uuid } from "../../conformance/store/bench.ts";
import { storeConformance } from "../../conformance/store.ts";
import { testDatabase } from "../../support/database.ts";
import { expectSound } from "./checks.ts";

const opened = async () => {
  const { database, url, drop } = await testDatabase();
  await migrate(database, ["suite"]);
  const another = await openUrl(url);
  const close = async (): Promise<void> => {
    await another.close();
    await drop();
  };
  const passTime = (ms: number): Promise<void> => sleep(ms);
  return { database, store: createStore(database), other: createStore(another), agent: "suite", passTime, close };
};

storeConformance("the store on Postgres", opened);

describe("on Postgres alone", () => {
  let subject: Awaited<ReturnType<typeof opened>>;
  let b: Bench;
  beforeAll(async () => {
    subject = await opened();
    b = createBench(subject);
  });
  afterAll(async () => {
    await expectSound(subject.database.pool, "suite");
    await subject.close();
  });
  const sql = (text: string, values: unknown[] = []) => subject.database.pool.query(text, values);

  test("runs a microsecond apart are each on one page", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 150; i++) ids.unshift(await b.run());
    await sql(
      `UPDATE agent_suite.runs r SET created_at = '2026-11-30 02:29:39.656638Z'::timestamptz + x.i * interval '1 microsecond'
       FROM unnest($1::uuid[]) WITH ORDINALITY AS x(id, i) WHERE r.run_id = x.id`,
      [ids.toReversed()],
    );
    const seen: string[] = [];
    for (let before: string | undefined; ; ) {
      const page = await b.store.runs.list({ limit: 1, ...(before === undefined ? {} : { before }) });
      seen.push(...page.runs.map((run) => run.runId));
      if (page.next === null) break;
      before = page.next;
    }
    expect(seen).toEqual(ids);
  });

  test("a cursor that no page gave is refused", async () => {
    for (const before of [`r1.zzzzzzzzzzz.${uuid()}`, `r2.1.${uuid()}`, `r1.1.${uuid()}x`, "r1.1", ""])
      await expect(b.store.runs.list({ limit: 1, before })).rejects.toMatchObject({ code: "request.invalid" });
  });

  test("I10: the audit wakes parked streams that were forgotten, and no others", async () => {
    const parked = async (wait: Wait, wakeAt: number | null = null) => {
      const stream = b.stream(await b.run());
      await (await b.take(stream)).write([event("A")], { type: "park", absorbed: 0, wait, wakeAt });
      return stream.runId;
    };
    const [deaf, lost, dead, well, timed] = [
      await parked("wave"),
      await parked("wave"),
      await parked("retry", 1),
      await parked("cut"),
      await parked("timer", 1e13),
    ];
    // What a bug, or a hand, could leave behind.
    await sql("UPDATE agent_suite.streams SET inbox_seq = 1 WHERE run_id = $1", [deaf]);
    await sql(
      `INSERT INTO agent_suite.inbox (run_id, stream_id, seq, key, kind, payload) VALUES ($1, 'run', 1, 'k', 'hold', '{"kind":"hold"}')`,
      [deaf],
    );
    await sql("UPDATE agent_suite.streams SET wait = NULL WHERE run_id = $1", [lost]);
    await sql("UPDATE agent_suite.streams SET wake_at = NULL WHERE run_id = $1", [dead]);
    const fixed: string[] = [];
    for (let after: string | null = null; ; ) {
      const page = await b.store.watch.audit("suite", after, 2);
      fixed.push(...page.fixed.map((s) => s.runId));
      if (page.next === null) break;
      after = page.next;
    }
    expect(fixed.toSorted()).toEqual([deaf, lost, dead].toSorted());
    const due = (await b.store.watch.due("suite", 500, 60_000)).map((s) => s.runId);
    expect(due).toEqual(expect.arrayContaining([deaf, lost, dead]));
    expect([due.includes(well), due.includes(timed)]).toEqual([false, false]);
  });

  test("what every append changes is in no index, so that it stays a heap-only update", async () => {
    const { rows } = await sql(
      `SELECT pg_get_indexdef(indexrelid) AS text FROM pg_index WHERE indrelid = 'agent_suite.streams'::regclass`,
    );
    expect(rows.length).toBeGreaterThan(2);
    for (const { text } of rows) expect(text).not.toMatch(/head_seq|lease_until|attempts|problem|inbox_seq/);
  });

  test("c17: a large value lies in the blobs, as the value that it is", async () => {
    const stream = b.stream(await b.run());
    await (await b.take(stream)).write([event("A", { small: 1, big: { a: "x".repeat(300_000) } })]);
    const { rows } = await sql("SELECT jsonb_typeof(content) AS type FROM agent_suite.blobs WHERE run_id = $1", [
      stream.runId,
    ]);
    expect(rows).toEqual([{ type: "object" }]);
    const inline = await sql(
      "SELECT pg_column_size(payload) AS bytes FROM agent_suite.events WHERE run_id = $1 AND seq = 2",
      [stream.runId],
    );
    expect(inline.rows[0].bytes).toBeLessThan(500);
  });
});
