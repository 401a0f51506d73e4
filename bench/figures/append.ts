// One run: an append of two events (what closes one step of a task and opens the next) beside a bare prepared insert of one row, on a connection each.
import { randomUUID } from "node:crypto";
import { createStore } from "../../shared/adapters/store/postgres.ts";
import type { Database } from "../../shared/ports/database.ts";
import { EVENTS } from "../bare.ts";
import { AGENT } from "../ground.ts";
import type { Half } from "../half.ts";
import { interleaved, type Measure, measures, median, ratioOf, type Statistics } from "../measure.ts";

export async function measureAppend({ append, bare }: Half, statistics: Statistics, times: number): Promise<Measure[]> {
  const [insert = async () => {}] = bare;
  const [appends = [], inserts = []] = await interleaved(times, [append, insert]);
  const measure = measures("append", statistics);
  const { value, spread } = ratioOf(appends, inserts);
  return [
    measure("a bare insert of one row", median(inserts), "ms"),
    measure("an append of two events", median(appends), "ms"),
    measure("append : bare insert", value, "×", { target: { atMost: 1.3 }, spread }),
  ];
}

/** Appends two events to a stream of its own, by the store, over a pool of one connection. */
export async function appender(database: Database): Promise<() => Promise<void>> {
  const { streams, runs } = createStore(database);
  const runId = randomUUID();
  const stream = { agent: AGENT, runId, streamId: "run" };
  await runs.create({
    agent: AGENT,
    runId,
    process: "main",
    input: null,
    generation: 1,
    codeHash: "bench",
    idempotencyKey: null,
    files: [],
  });
  const acquired = await streams.acquire(stream, { owner: randomUUID(), generation: 1, leaseMs: 600_000, solo: false });
  if (acquired.type !== "acquired") throw new Error(`the stream is ${acquired.type}`);
  const { lease } = acquired;
  let { head } = lease;
  return async () => {
    const appended = await streams.append({ lease, head, events: EVENTS, next: { type: "run" }, progress: true });
    if (appended.type !== "ok") throw new Error("somebody else writes the bench's stream");
    ({ head } = appended);
  };
}
