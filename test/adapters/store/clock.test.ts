// I8: time is the database's. A worker's own clock may be minutes off, and a statement that waits for a row has waited.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import type { StreamRef } from "../../../shared/ports/store.ts";
import { type Bench, createBench, event } from "../../conformance/store/bench.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

const AGENT = "clocks";
let db: TestDatabase;
let b: Bench;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, [AGENT]);
  const store = createStore(db.database);
  const close = async () => {};
  b = createBench({ store, other: store, agent: AGENT, passTime: (ms) => sleep(ms), close });
});
afterAll(() => db.drop());
afterEach(() => {
  jest.restoreAllMocks();
});

/** The worker's clock, not the database's. */
function off(byMs: number): void {
  const real = Date.now.bind(Date);
  jest.spyOn(Date, "now").mockImplementation(() => real() + byMs);
}

describe.each([
  ["five minutes behind", -300_000],
  ["five minutes ahead", 300_000],
])("a worker whose clock is %s", (_, byMs) => {
  test("I8: holds what it renews, by heartbeat and by append, and for a lease's length only", async () => {
    const stream = b.stream(await b.run());
    off(byMs);
    const writer = await b.take(stream, { leaseMs: 800 });
    await sleep(450);
    expect((await b.store.streams.renew([writer.lease], 800))[0]?.held).toBe(true);
    await sleep(450);
    expect((await b.acquire(stream)).type).toBe("leased");
    await writer.write([event("NowRead")]);
    await sleep(450);
    expect((await b.acquire(stream)).type).toBe("leased");
    await sleep(500);
    expect((await b.acquire(stream)).type).toBe("acquired");
  });
});

describe("an acquisition that waits for the row", () => {
  /** Somebody holds the row's lock for so long, while the acquisition waits. */
  async function behindLock(stream: StreamRef, ms: number, leaseMs: number) {
    const client = await db.database.pool.connect();
    try {
      await client.query("BEGIN");
      await client.query(`SELECT FROM agent_${AGENT}.streams WHERE run_id = $1 AND stream_id = $2 FOR UPDATE`, [
        stream.runId,
        stream.streamId,
      ]);
      const acquired = b.acquire(stream, { leaseMs });
      await sleep(ms);
      await client.query("COMMIT");
      return await acquired;
    } finally {
      client.release();
    }
  }

  test("I8: takes the lease that ran out meanwhile", async () => {
    const stream = b.stream(await b.run());
    await b.take(stream, { leaseMs: 300 });
    expect((await behindLock(stream, 600, 10_000)).type).toBe("acquired");
  });

  test("I8: holds it for its whole length from then on", async () => {
    const stream = b.stream(await b.run());
    expect((await behindLock(stream, 1_200, 1_000)).type).toBe("acquired");
    expect((await b.acquire(stream)).type).toBe("leased");
  });
});
