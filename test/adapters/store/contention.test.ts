// Four workers with pools of their own over the same few runs: overlapping mixed batches, planners, deliverers and guardians at once. Whatever they do to
// one another, nobody deadlocks, and afterwards every rule of checks.ts holds.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { openUrl } from "../../../shared/adapters/database/url.ts";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import type { Database } from "../../../shared/ports/database.ts";
import type { Next, StreamRef, Wait } from "../../../shared/ports/store.ts";
import {
  type Bench,
  completed,
  createBench,
  event,
  failed,
  terminal,
  type Writer,
  wave,
} from "../../conformance/store/bench.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { expectSound } from "./checks.ts";
import { type Watched, watched } from "./pools.ts";

const AGENT = "contention";
const WORKERS = 4;
const RUNS = 6;
const TASKS = 16;
const ROUNDS = Number(process.env.ROUNDS ?? 30);
const SEED = Number(process.env.SEED ?? 1);

let db: TestDatabase;
const opened: Database[] = [];
const workers: { bench: Bench; watch: Watched; random: () => number }[] = [];
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, [AGENT]);
  for (let i = 0; i < WORKERS; i++) {
    const own = await openUrl(db.url);
    const watch = watched(own);
    const store = createStore(watch.database);
    opened.push(own);
    const nothing = async () => {};
    workers.push({
      bench: createBench({ store, other: store, agent: AGENT, passTime: nothing, close: nothing }),
      watch,
      random: seeded(SEED * 97 + i),
    });
  }
});
afterAll(async () => {
  await Promise.all(opened.map((d) => d.close()));
  await db.drop();
});

/** mulberry32. */
function seeded(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
const pick = <T>(random: () => number, from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;

const WAITS: readonly Wait[] = ["wave", "timer", "retry", "cut", "claim"];
function nextOf(random: () => number, absorbed: number): Next {
  const r = random();
  if (r < 0.35) return { type: "park", absorbed, wait: pick(random, WAITS), wakeAt: 0 };
  if (r < 0.6) return { type: "release", afterMs: 0, keepAttempts: random() < 0.5 };
  return { type: "run" };
}

/** A few appends of one task, perhaps its end. Another worker may have it: then nothing. */
async function workOn(bench: Bench, random: () => number, stream: StreamRef): Promise<void> {
  const got = await bench.acquire(stream, { leaseMs: random() < 0.3 ? 1 : 25 });
  if (got.type !== "acquired") return;
  let { head, inboxSeq } = got.lease;
  for (let i = 0; i < 3; i++) {
    const r = random();
    const next = r < 0.08 ? completed() : r < 0.11 ? failed : nextOf(random, inboxSeq);
    const events =
      next.type === "end" ? [terminal(next)] : Array.from({ length: Math.floor(random() * 3) }, () => event("A"));
    const appended = await bench.store.streams.append({
      lease: got.lease,
      head,
      events,
      next,
      progress: random() < 0.5,
    });
    if (appended.type !== "ok" || appended.status !== "running") return;
    ({ head, inboxSeq } = appended);
  }
}

/** The run's own stream: a wave, or claims of what other waves held, or a park. Ends it now and then. */
async function tick(bench: Bench, random: () => number, runId: string, ends: boolean): Promise<void> {
  const got = await bench.acquire(bench.stream(runId), { leaseMs: random() < 0.3 ? 1 : 25 });
  if (got.type !== "acquired") return;
  const { lease } = got;
  const before = (await bench.store.runs.streams(AGENT, runId)).flatMap((s) => (s.wave === null ? [] : [s]));
  const n = Math.max(0, ...before.map((s) => s.wave ?? 0)) + 1;
  const claimed = before.filter(() => random() < 0.3).map((s) => s.streamId.slice(5));
  const events = [event("WavePlanned")];
  const waves = [wave(n, 4, { claimed, onTaskFailure: random() < 0.5 ? "fail" : "collect" })];
  const planned = await bench.store.streams.plan({ lease, head: lease.head, events, waves });
  if (planned.type === "conflict") return;
  const next = ends ? completed() : nextOf(random, planned.inboxSeq);
  await bench.store.streams.append({ lease, head: planned.head, events: [event("B")], next, progress: false });
}

async function deliver(bench: Bench, random: () => number, stream: StreamRef): Promise<void> {
  await bench.store.streams.deliver(stream, `k${Math.floor(random() * 40)}`, { kind: "hold", wave: 0 });
}

test(`I3, I10, I12: ${WORKERS} workers with overlapping batches: no deadlock, and every rule holds (SEED=${SEED})`, async () => {
  const first = workers[0]?.bench as Bench;
  const runs: { runId: string; run: Writer }[] = [];
  for (let i = 0; i < RUNS; i++) runs.push(await first.planned(TASKS, i % 2 ? "collect" : "fail"));
  await Promise.all(runs.map(({ run }) => run.write([], { type: "release", afterMs: 0 })));

  const worker = async ({ bench, random }: (typeof workers)[number]): Promise<void> => {
    for (let round = 0; round < ROUNDS; round++) {
      const streams = await Promise.all(runs.map(({ runId }) => bench.store.tasks.open(AGENT, runId)));
      const tasks = streams.flatMap((open, i) =>
        open.map((t) => bench.stream(runs[i]?.runId ?? "", `task:${t.taskId}`)),
      );
      const some = Array.from({ length: Math.min(24, tasks.length) }, () => pick(random, tasks));
      await Promise.all([
        ...[...new Set(some)].map((t) => workOn(bench, random, t)),
        ...Array.from({ length: 4 }, () =>
          tick(bench, random, pick(random, runs).runId, round > ROUNDS - 4 && random() < 0.3),
        ),
        ...Array.from({ length: 8 }, () =>
          deliver(
            bench,
            random,
            random() < 0.5 && tasks.length > 0 ? pick(random, tasks) : bench.stream(pick(random, runs).runId),
          ),
        ),
        bench.store.watch.due(AGENT, 50, 1),
        bench.store.watch.audit(AGENT, null, 50),
      ]);
    }
  };
  await Promise.all(workers.map(worker));

  const codes = workers.flatMap(({ watch }) => watch.codes);
  expect(codes.filter((code) => code !== "23505")).toEqual([]); // a twin of a fact is an everyday answer; 40P01 or 55P03 would be a wrong lock order
  await expectSound(db.database.pool, AGENT);
  const sent = workers.flatMap(({ watch }) => watch.sent);
  for (const verb of ["append-full", "append-plain", "plan", "deliver-fact", "due", "audit"])
    expect(sent).toContain(verb);
}, 60_000);
