// Real sockets, really destroyed: after the server has the statement and before anyone here has its answer.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import type { Next, Store } from "../../../shared/ports/store.ts";
import {
  type Bench,
  completed,
  createBench,
  event,
  terminal,
  uuid,
  type Writer,
  wave,
} from "../../conformance/store/bench.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { expectSound } from "./checks.ts";
import { watched } from "./pools.ts";

const AGENT = "acks";
let db: TestDatabase;
let whole: Store;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, [AGENT]);
  whole = createStore(db.database);
});
afterAll(async () => {
  await expectSound(db.database.pool, AGENT);
  await db.drop();
});

const benchOf = (store: Store): Bench =>
  createBench({ store, other: whole, agent: AGENT, passTime: async () => {}, close: async () => {} });
/** A store that loses answers to these verbs: each one's first `times`. */
const losing = (verbs: readonly string[], times = 1, harm: "answer" | "question" = "answer") => {
  const w = watched(db.database, (verb, nth) => (verbs.includes(verb) && nth <= times ? harm : null));
  return { ...w, bench: benchOf(createStore(w.database)) };
};

const N = 64;
const park = (absorbed: number): Next => ({ type: "park", absorbed, wait: "wave", wakeAt: null });
const KINDS: readonly [string, string, Next, string][] = [
  ["plain", "append-plain", { type: "run" }, "running"],
  ["park", "append-full", park(0), "parked"],
  ["refused park", "append-full", park(7), "running"],
  ["release", "append-full", { type: "release", afterMs: 0 }, "ready"],
  ["end", "append-full", completed(), "ended"],
];

describe("appends whose acknowledgement is lost", () => {
  test.each(KINDS)(`%s: ${N} of ${N} are recognised, and written once`, async (_, verb, next, status) => {
    const { bench, sent } = losing([verb], 3); // of several flushes and of a repetition
    const { runId, tasks } = await benchOf(whole).planned(N);
    const writers = await Promise.all(tasks.map((t) => bench.take(t)));
    const answers = await Promise.all(writers.map((w, i) => w.write([event("A", { i }), terminalOf(next)], next)));
    expect(answers.filter((a) => a.status === status && a.head === 2)).toHaveLength(N);
    for (const [i, task] of tasks.entries()) {
      const log = await whole.streams.read(task, 0);
      expect(log.map((e) => [e.seq, e.payload.i])).toEqual([
        [1, i],
        [2, undefined],
      ]);
      expect((await bench.acquire(task)).type).toBe(ACQUIRED[status]);
    }
    expect(sent).toContain("read-append");
    const bells = (await whole.streams.readInbox(bench.stream(runId), 0)).length;
    expect([bells, answers.some((a) => a.rang)]).toEqual(next.type === "end" ? [1, true] : [0, false]);
  });

  test("where every answer is lost, the repetitions' too, the caller is told that nobody knows; it is written once", async () => {
    const { bench } = losing(["append-one"], Number.POSITIVE_INFINITY);
    const stream = bench.stream(await bench.run());
    const writer = await bench.take(stream);
    await expect(writer.write([event("A")])).rejects.toMatchObject({ code: "database.unavailable" });
    expect(await bench.types(stream)).toEqual(["RunCreated", "A"]);
  });

  test("an append without events that lets go is recognised too", async () => {
    const { bench } = losing(["append-full"]);
    const stream = bench.stream(await bench.run());
    expect((await (await bench.take(stream)).write([], { type: "release", afterMs: 0 })).status).toBe("ready");
  });

  test("what never left is sent again, once", async () => {
    const { bench, sent } = losing(["append-one"], 1, "question");
    const stream = bench.stream(await bench.run());
    await (await bench.take(stream)).write([event("A")]);
    expect(await bench.types(stream)).toEqual(["RunCreated", "A"]);
    expect(sent.filter((v) => v === "append-one")).toHaveLength(2);
  });

  test("I12: where another has taken the stream meanwhile it is a conflict", async () => {
    const w = watched(db.database, (verb, nth) => (verb === "append-full" && nth === 1 ? "answer" : null));
    const query = w.database.appends.query.bind(w.database.appends) as (...a: unknown[]) => Promise<unknown>;
    let heir: Writer | undefined;
    const appends = new Proxy(w.database.appends, {
      get: (target, name) =>
        name !== "query"
          ? Reflect.get(target, name, target)
          : async (...args: unknown[]) => {
              try {
                return await query(...args);
              } catch (e) {
                heir = await benchOf(whole).take(stream);
                throw e;
              }
            },
    });
    const bench = benchOf(createStore({ ...w.database, appends }));
    const stream = bench.stream(await bench.run());
    const writer = await bench.take(stream);
    expect(await writer.append([event("A")], { type: "release", afterMs: 0 })).toEqual({ type: "conflict" });
    await heir?.write([event("B")]);
    expect(await bench.types(stream)).toEqual(["RunCreated", "A", "B"]);
  });
});

describe("other statements whose acknowledgement is lost", () => {
  test("acquire: the same owner has its lease, one attempt counted", async () => {
    const { bench } = losing(["acquire"]);
    const { lease } = await bench.take(bench.stream(await bench.run()));
    expect(lease).toMatchObject({ epoch: 1, attempts: 1 });
  });

  test("deliver: delivered, not a duplicate of itself; a true duplicate stays one", async () => {
    const { bench } = losing(["deliver-fact"], 2);
    const stream = bench.stream(await bench.run());
    await (await bench.take(stream)).write([], park(0));
    expect(await bench.store.streams.deliver(stream, "k", { kind: "hold", wave: 0 })).toEqual({
      type: "delivered",
      nudge: true,
    });
    expect(await whole.streams.readInbox(stream, 0)).toHaveLength(1);
    const other = losing(["deliver-fact"]).bench.store.streams.deliver(stream, "k", { kind: "claim", wave: 1 });
    expect(await other).toMatchObject({ type: "duplicate", fact: { kind: "hold", wave: 0 } });
  });

  test("create: created, not existing", async () => {
    const { bench } = losing(["create-run"], 2);
    const run = { agent: AGENT, runId: uuid(), process: "main", input: 1, generation: 1, codeHash: "h", files: [] };
    expect(await bench.store.runs.create({ ...run, idempotencyKey: null })).toEqual({
      type: "created",
      runId: run.runId,
      same: true,
    });
    const keyed = { ...run, runId: uuid(), idempotencyKey: uuid() };
    expect(await losing(["create-run"]).bench.store.runs.create(keyed)).toEqual({
      type: "created",
      runId: keyed.runId,
      same: true,
    });
  });

  test("plan: planned once, with what was complete then", async () => {
    const { bench } = losing(["plan"], 2);
    const runId = await bench.run();
    const run = await bench.take(bench.stream(runId));
    expect(await run.plan(wave(0, 2), wave(1, 0))).toEqual([1]);
    expect(await bench.types(bench.stream(runId))).toEqual(["RunCreated", "WavePlanned", "WavePlanned"]);
    await run.write([event("A")]);
  });
});

const terminalOf = (next: Next) => (next.type === "end" ? terminal(next) : event("B"));
const ACQUIRED: Readonly<Record<string, string>> = {
  running: "leased",
  parked: "acquired",
  ready: "acquired",
  ended: "ended",
};
