// The append statements themselves, given what the committer never puts into one batch: two items of one stream. They are the last fence (I12).
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createAppender } from "../../../shared/adapters/store/append-batch.ts";
import type { Item } from "../../../shared/adapters/store/committer.ts";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import type { Appended, Next } from "../../../shared/ports/store.ts";
import { type Bench, createBench, event, type Writer } from "../../conformance/store/bench.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { watched } from "./pools.ts";

const AGENT = "fence";
let db: TestDatabase;
let b: Bench;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, [AGENT]);
  const store = createStore(db.database);
  const nothing = async () => {};
  b = createBench({ store, other: store, agent: AGENT, passTime: nothing, close: nothing });
});
afterAll(() => db.drop());

function item(
  writer: Writer,
  type: string,
  next: Next,
  answer: (appended: Appended) => void,
  reject: (e: unknown) => void,
): Item {
  const { lease, head } = writer;
  const events = [{ type, text: JSON.stringify({ by: lease.epoch }) }];
  const append = { lease, head, events: [event(type)], next, progress: false };
  return {
    append,
    streamKey: lease.stream.runId,
    events,
    output: null,
    error: null,
    bytes: 10,
    resolve: answer,
    reject,
  };
}

const NEXTS: readonly [string, Next][] = [
  ["plain", { type: "run" }],
  ["full", { type: "release", afterMs: 0 }],
];
test.each(NEXTS)("I12: a zombie in one batch with its heir: its event is not on record (%s)", async (_, next) => {
  const stream = b.stream(await b.run());
  const zombie = await b.take(stream, { leaseMs: 1 });
  await new Promise((resolve) => setTimeout(resolve, 5));
  const heir = await b.take(stream);
  const answers: string[] = [];
  const fail = (e: unknown) => answers.push(String(e));
  const w = watched(db.database);
  const flush = createAppender(w.database.appends, AGENT);
  await flush([
    item(zombie, "Z", next, (a) => answers.push(`zombie ${a.type}`), fail),
    item(heir, "H", next, (a) => answers.push(`heir ${a.type}`), fail),
  ]);
  expect(answers.sort()).toEqual(["heir ok", "zombie conflict"]);
  expect(await b.types(stream)).toEqual(["RunCreated", "H"]);
  expect([w.sent.length, w.codes]).toEqual([1, []]); // told apart by the statement itself, not by what follows a failed one
});
