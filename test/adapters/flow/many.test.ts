// Many workers at the same gates of a real Postgres: never more than there is room for, nobody is forgotten, first come, first served.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { createPostgresFlow } from "../../../shared/adapters/flow/postgres.ts";
import { FLOW_CALL_MS, FLOW_SETTLE_MS } from "../../../shared/core/limits.ts";
import type { Call, Flow, Gate } from "../../../shared/ports/flow.ts";
import type { StreamRef } from "../../../shared/ports/store.ts";
import { createRandom } from "../../sim/random.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { forgetGates, miscounted, passFlowTime } from "../../support/flow.ts";

const LEASE_MS = 600_000;
const CLIENTS = 50;

let db: TestDatabase;
let clients: Flow[];
let sent = 0;
beforeAll(async () => {
  db = await testDatabase({ appends: 12 });
  const appends = new Proxy(db.database.appends, {
    get: (pool, name) => {
      if (name === "query") sent++;
      return Reflect.get(pool, name, pool) as unknown;
    },
  });
  clients = Array.from({ length: CLIENTS }, () => createPostgresFlow({ appends }));
});
afterAll(() => db.drop());
beforeEach(async () => {
  await forgetGates(db.database);
  sent = 0;
});

const run = randomUUID();
const stream = (n: number): StreamRef => ({ agent: "crew", runId: run, streamId: `task:w0t${n}` });
const numberOf = ({ stream: { streamId } }: Call): number => Number(streamId.slice("task:w0t".length));
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface World {
  readonly seed: number;
  readonly streams: number;
  readonly gates: readonly (Gate & { readonly max: number })[];
  /** Of holders, that die without a word; of calls, that are lost. */
  readonly dies: number;
  readonly lost: number;
}

/** Each client takes hints and works on their streams. When nothing moves any more, time passes: leases run out, and those who wait look again. */
async function play({ seed, streams, gates, dies, lost }: World) {
  const random = createRandom(seed);
  const wants = new Map<number, readonly Gate[]>();
  for (let n = 0; n < streams; n++) {
    const some = gates.filter(() => random.chance(0.6));
    wants.set(n, some.length === 0 ? gates.slice(0, 1) : some);
  }
  const inside = new Map<string, Set<number>>(gates.map((g) => [g.key, new Set()]));
  const waiting = new Set(wants.keys());
  const hints = [...waiting];
  const over: string[] = [];
  let dead: number[] = [];
  let working = 0;
  const held = new Set<number>(); // as by a lease: a hint for a stream that somebody works on is lost
  const heard = (calls: readonly Call[]): void => {
    for (const call of calls) if (!random.chance(lost)) hints.push(numberOf(call));
  };
  const workOn = async (flow: Flow, n: number): Promise<void> => {
    const own = wants.get(n) ?? [];
    const entered = await flow.enter(stream(n), own, LEASE_MS);
    heard(entered.called);
    if (entered.type === "wait") return;
    waiting.delete(n);
    for (const { key, max } of own) {
      const there = inside.get(key) ?? new Set();
      there.add(n);
      if (there.size > (max ?? 0)) over.push(`${key}: ${there.size}`);
    }
    for (let pauses = random.int(4); pauses > 0; pauses--) await turn();
    if (random.chance(dies)) return void dead.push(n);
    for (const { key } of own) inside.get(key)?.delete(n);
    heard(
      await flow.leave(
        stream(n),
        own.map((g) => g.key),
      ),
    );
  };
  const work = async (flow: Flow): Promise<void> => {
    for (;;) {
      const n = hints.shift();
      if (n === undefined) {
        if (working === 0 && hints.length === 0) return;
        await turn();
      } else if (waiting.has(n) && !held.has(n)) {
        working++;
        held.add(n);
        await workOn(flow, n);
        held.delete(n);
        working--;
      }
    }
  };
  let rounds = 0;
  for (; waiting.size > 0 && rounds < 100; rounds++) {
    hints.push(...waiting);
    await Promise.all(clients.map(work));
    await passFlowTime(db.database, FLOW_CALL_MS + 1_000); // lost calls are over
    if (rounds !== 5) continue;
    await passFlowTime(db.database, LEASE_MS);
    for (const there of inside.values()) for (const n of dead) there.delete(n);
    for (const n of dead) waiting.add(n); // its heir begins anew
    dead = [];
    dies = 0;
    lost = 0;
  }
  return { over, left: [...waiting], rounds };
}

const gate = (key: string, max: number): Gate & { max: number } => ({ key, max, rate: null });

describe("50 workers", () => {
  test.each([1, 2, 3])(
    "one gate: never more than its places, and all get in (seed %s)",
    async (seed) => {
      const { over, left } = await play({ seed, streams: 200, gates: [gate("model:m", 7)], dies: 0, lost: 0 });
      expect({ over, left, miscounted: await miscounted(db.database) }).toEqual({ over: [], left: [], miscounted: [] });
    },
    60_000,
  );

  test.each([4, 5, 6])(
    "three gates, dying holders and lost calls: all the same (seed %s)",
    async (seed) => {
      const gates = [gate("agent:crew", 9), gate("model:m", 4), gate("wave:r:0", 6)];
      const { over, left } = await play({ seed, streams: 100, gates, dies: 0.1, lost: 0.2 });
      expect({ over, left, miscounted: await miscounted(db.database) }).toEqual({ over: [], left: [], miscounted: [] });
    },
    60_000,
  );

  test("first come, first served: nobody is overtaken by more than who works at the same moment", async () => {
    const one = [gate("model:m", 5)];
    const [first] = clients as [Flow];
    for (let n = 0; n < 205; n++) await first.enter(stream(n), one, LEASE_MS);
    await passFlowTime(db.database, FLOW_SETTLE_MS);
    const order: number[] = [];
    const hints: number[] = [];
    const leave = async (flow: Flow, n: number) =>
      hints.push(...(await flow.leave(stream(n), ["model:m"])).map(numberOf));
    await Promise.all([0, 1, 2, 3, 4].map((n) => leave(first, n)));
    const work = async (flow: Flow): Promise<void> => {
      while (order.length < 200) {
        const n = hints.shift();
        if (n === undefined) {
          await turn();
          continue;
        }
        const entered = await flow.enter(stream(n), one, LEASE_MS);
        expect(entered.type).toBe("entered");
        order.push(n);
        hints.push(...entered.called.map(numberOf));
        await leave(flow, n);
      }
    };
    await Promise.all(clients.slice(0, 20).map(work));
    expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, i) => i + 5));
    const late = order.map((n, place) => Math.abs(place + 5 - n));
    // A worker that the machine lets wait is late itself: only the usual wait is a promise.
    expect(late.reduce((sum, by) => sum + by, 0) / late.length).toBeLessThanOrEqual(10);
  }, 60_000);
});

test("1,000 waiting streams cost a statement each, and two for each that has its turn: none looks again before it is called", async () => {
  const twenty = [gate("model:m", 20)];
  const [flow] = clients as [Flow];
  const waits: number[] = [];
  for (let n = 0; n < 1_020; n++) {
    const entered = await flow.enter(stream(n), twenty, LEASE_MS);
    if (entered.type === "wait") waits.push(entered.retryAt - entered.now);
  }
  expect([waits.length, sent]).toEqual([1_000, 1_020]);
  await passFlowTime(db.database, FLOW_SETTLE_MS);
  // At two calls a second the last one waits for 500 s: the further behind, the later it looks again.
  expect(Math.min(...waits.slice(0, 50))).toBeGreaterThan(20_000);
  expect(Math.min(...waits.slice(500))).toBeGreaterThan(180_000);
  const turns = Array.from({ length: 20 }, (_, n) => n);
  let had = 0;
  for (let n = turns.shift(); n !== undefined; n = turns.shift()) {
    if (n >= 20) expect((await flow.enter(stream(n), twenty, LEASE_MS)).type).toBe("entered");
    const calls = await flow.leave(stream(n), ["model:m"]);
    expect(calls.length).toBe(had < 1_000 ? 1 : 0);
    turns.push(...calls.map(numberOf));
    had++;
  }
  expect([had, sent]).toEqual([1_020, 1_020 + 1_000 + 1_020]);
}, 60_000);
