import { beforeEach, describe, expect, test } from "@jest/globals";
import { TorenError } from "../../shared/core/errors.ts";
import { COOL_DOWNS_KEEP_MS, FLOW_SPREAD_MS } from "../../shared/core/limits.ts";
import type { EngineDeps } from "../../shared/engine/deps.ts";
import { agentGate, coolModel, enterGates, leaveGates, modelGate, waveGate } from "../../shared/engine/gates.ts";
import { createLeaseKeeper } from "../../shared/engine/lease-keeper.ts";
import { createWorkerFlow } from "../../shared/engine/worker-flow.ts";
import type { Call, Flow } from "../../shared/ports/flow.ts";
import type { Outgoing } from "../../shared/ports/queue.ts";
import type { Lease, StreamRef, StreamStore } from "../../shared/ports/store.ts";
import { Gates } from "../sim/flow.ts";
import { agent } from "../support/agents.ts";

const LEASE_MS = 30_000;
const stream = (n: number): StreamRef => ({ agent: "crew", runId: "r", streamId: `task:w0t${n}` });
const away = new TorenError("database.unavailable", "away");
const settings = { maxInFlight: null, tokensPerMinute: null, contextWindow: null, maxOutput: null, price: null };

/** The store's side, in memory, with what was asked of it. */
let clock = 1_000_000;
let asked: string[] = [];
let broken = false;
let gates: Gates;
const noted = <T>(what: string, answer: () => T): Promise<T> => {
  asked.push(what);
  return broken ? Promise.reject(away) : Promise.resolve(answer());
};
const store: Flow = {
  enter: (s, wanted, ms) => noted("enter", () => gates.enter(clock, s, wanted, ms, false)),
  leave: (s, keys, used = {}) => noted(`leave ${keys}`, () => gates.leave(clock, s, keys, used, false)),
  renew: (streams, ms) => noted(`renew ${streams.map((s) => s.streamId)}`, () => gates.renew(clock, streams, ms)),
  coolDown: (key, ms) => noted("coolDown", () => gates.coolDown(clock, key, ms)),
  coolDowns: () => noted("coolDowns", () => ({ now: clock, until: gates.coolDowns(clock) })),
};

let sent: Outgoing[] = [];
let timed: [string | null, number][] = [];
let warned: string[] = [];
let queueBroken = false;
const worker = () => createWorkerFlow({ flow: store, elapsedMs: () => clock, random: () => 0.5 });
const depsWith = (flow: Flow): EngineDeps =>
  ({
    flow,
    leaseMs: LEASE_MS,
    log: { info: () => {}, warn: (what: string) => warned.push(what), error: () => {} },
    queue: {
      send: async (messages: readonly Outgoing[]) => {
        if (queueBroken) throw away;
        sent.push(...messages);
      },
    },
    timers: { set: async ({ hint }: Outgoing, at: number, now: number) => timed.push([hint.taskId, at - now]) },
  }) as unknown as EngineDeps;

let flow: Flow;
let deps: EngineDeps;
beforeEach(() => {
  gates = new Gates(() => 0.5);
  [asked, sent, timed, warned] = [[], [], [], []];
  [broken, queueBroken] = [false, false];
  flow = worker();
  deps = depsWith(flow);
});

const open = modelGate("openai/m", undefined, 100);
const two = modelGate("openai/m", { ...settings, maxInFlight: 2 }, 100);

describe("which gates there are", () => {
  test("a model's has what its settings say", () => {
    expect(open).toEqual({ key: "model:openai/m", max: null, rate: null });
    expect(two).toEqual({ key: "model:openai/m", max: 2, rate: null });
    expect(modelGate("openai/m", { ...settings, tokensPerMinute: 5_000 }, 70).rate).toEqual({
      perMinute: 5_000,
      tokens: 70,
    });
  });

  test("waves and agents without a bound have none", () => {
    expect(waveGate("r", null)).toBeNull();
    expect(waveGate("r", { number: 3, maxParallel: null })).toBeNull();
    expect(waveGate("r", { number: 3, maxParallel: 8 })).toEqual({ key: "wave:r:3", max: 8, rate: null });
    const crew = agent("crew", [], { kind: "role", role: "main" });
    expect(agentGate(crew)).toBeNull();
    const bounded = { ...crew, limits: { ...crew.limits, maxParallel: 5 } };
    expect(agentGate(bounded)).toEqual({ key: "agent:crew", max: 5, rate: null });
  });
});

describe("without bounds", () => {
  test("a call costs a look for cool-downs, once a second at most, and nothing else", async () => {
    for (let n = 0; n < 20; n++) {
      expect(await enterGates(deps, stream(n), [open])).toBeNull();
      await leaveGates(deps, stream(n), [open]);
    }
    expect(asked).toEqual(["coolDowns"]);
    clock += COOL_DOWNS_KEEP_MS + 1;
    await Promise.all([1, 2, 3].map((n) => enterGates(deps, stream(n), [open])));
    expect(asked).toEqual(["coolDowns", "coolDowns"]);
  });

  test("no gates: no statement", async () => {
    expect(await enterGates(deps, stream(1), [])).toBeNull();
    await leaveGates(deps, stream(1), []);
    expect(asked).toEqual([]);
  });

  test("one worker's 429 holds up all others a second later, itself at once; the wait ends with it", async () => {
    const other = worker();
    await enterGates(depsWith(other), stream(9), [open]);
    await enterGates(deps, stream(1), [open]);
    await coolModel(deps, "openai/m", 20_000);
    const waiting = await enterGates(deps, stream(1), [open]);
    expect(waiting).toEqual({ key: "model:openai/m", wake: { at: clock + 20_000 + FLOW_SPREAD_MS / 2, now: clock } });
    expect(await enterGates(depsWith(other), stream(9), [open])).toBeNull(); // it has just asked
    clock += COOL_DOWNS_KEEP_MS + 1;
    expect(await enterGates(depsWith(other), stream(9), [open])).not.toBeNull();
    clock += 20_000;
    expect(await enterGates(depsWith(other), stream(9), [open])).toBeNull();
    expect(await enterGates(deps, stream(1), [open])).toBeNull();
  });

  test("another model is asked meanwhile", async () => {
    await coolModel(deps, "openai/m", 20_000);
    expect(await enterGates(deps, stream(1), [modelGate("openai/n", undefined, 1)])).toBeNull();
  });

  test("a look that failed is tried again by the next", async () => {
    broken = true;
    await expect(enterGates(deps, stream(1), [open])).rejects.toMatchObject({ code: "database.unavailable" });
    broken = false;
    expect(await enterGates(deps, stream(1), [open])).toBeNull();
  });
});

describe("with bounds", () => {
  test("who leaves calls who waits, by a hint", async () => {
    for (const n of [1, 2]) expect(await enterGates(deps, stream(n), [two])).toBeNull();
    const waiting = await enterGates(deps, stream(3), [two]);
    expect(waiting?.key).toBe("model:openai/m");
    expect(waiting?.wake.at).toBeGreaterThan(clock);
    clock += 1_000;
    await leaveGates(deps, stream(1), [two]);
    expect(sent.map((m) => [m.queue, m.hint.taskId])).toEqual([["tasks-short", "w0t3"]]);
    expect(asked).toEqual(["enter", "enter", "enter", "leave model:openai/m"]);
  });

  test("a call for later is a timer", async () => {
    await enterGates(deps, stream(1), [two]);
    await enterGates(deps, stream(2), [two]);
    await enterGates(deps, stream(3), [two]);
    clock += 1_000;
    await coolModel(deps, "openai/m", 20_000);
    await leaveGates(deps, stream(1), [two]);
    expect(sent).toEqual([]);
    expect(timed).toEqual([["w0t3", 20_000 + FLOW_SPREAD_MS / 2]]);
  });

  test("used tokens are told", async () => {
    const rated = modelGate("openai/m", { ...settings, tokensPerMinute: 1_000 }, 1_000);
    await enterGates(deps, stream(1), [rated]);
    await leaveGates(deps, stream(1), [rated], { [rated.key]: 10 });
    expect(await enterGates(deps, stream(2), [{ ...rated, rate: { perMinute: 1_000, tokens: 900 } }])).toBeNull();
  });

  test("who finds an open gate cooling asks for the others with it, and holds none of them", async () => {
    const wave = waveGate("r", { number: 0, maxParallel: 1 });
    if (wave === null) throw new Error("no gate");
    await coolModel(deps, "openai/m", 20_000);
    const waiting = await enterGates(deps, stream(1), [wave, open]);
    expect(waiting?.wake.at).toBe(clock + 20_000 + FLOW_SPREAD_MS / 2);
    expect(await enterGates(deps, stream(2), [wave])).not.toBeNull(); // 1 is first in line
    await flow.renew([stream(1), stream(2)], LEASE_MS);
    expect(asked.filter((a) => a.startsWith("renew"))).toEqual([]);
  });
});

describe("when the store of the gates is away", () => {
  test("nothing is begun", async () => {
    broken = true;
    await expect(enterGates(deps, stream(1), [two])).rejects.toMatchObject({ code: "database.unavailable" });
  });

  test("what is in hand isn't thrown away: leaving and cooling down never reject, and the place isn't renewed any more", async () => {
    await enterGates(deps, stream(1), [two]);
    broken = true;
    await leaveGates(deps, stream(1), [two]);
    await coolModel(deps, "openai/m", 1_000);
    expect(warned).toEqual(["gates not left", "model not cooled down"]);
    broken = false;
    await flow.renew([stream(1)], LEASE_MS);
    expect(asked.filter((a) => a.startsWith("renew"))).toEqual([]);
  });

  test("I9: a call that can't be sent is lost, and the stream that made it goes on", async () => {
    for (const n of [1, 2, 3]) await enterGates(deps, stream(n), [two]);
    clock += 1_000;
    queueBroken = true;
    await leaveGates(deps, stream(1), [two]);
    expect(warned).toEqual(["turns not called"]);
    expect(await enterGates(deps, stream(3), [two])).toBeNull();
  });
});

describe("renewing with the lease keeper's beat", () => {
  const holder = (n: number) => ({
    lease: { stream: stream(n) } as Lease,
    onInbox: () => {},
    onLost: () => {},
  });
  const renew: StreamStore["renew"] = async (leases) =>
    leases.map(() => ({ held: true, inboxSeq: 0, now: clock, watched: false }));
  const keeperOver = (own: Flow) => createLeaseKeeper({ renew } as StreamStore, LEASE_MS, deps.log, own);

  test("places of streams that are written here; none held: no statement", async () => {
    const keeper = keeperOver(flow);
    const letGo = [1, 2, 3].map((n) => keeper.hold(holder(n)));
    await keeper.beat();
    expect(asked).toEqual([]);
    await enterGates(deps, stream(1), [two]);
    await enterGates(deps, stream(2), [two]);
    await keeper.beat();
    expect(asked.at(-1)).toBe("renew task:w0t1,task:w0t2");
    await leaveGates(deps, stream(2), [two]);
    await keeper.beat();
    expect(asked.at(-1)).toBe("renew task:w0t1");
    letGo[0]?.();
    await keeper.beat();
    expect(asked.at(-1)).toBe("renew task:w0t1"); // the last one of before
    expect(asked.filter((a) => a.startsWith("renew"))).toHaveLength(2);
    keeper.close();
  });

  test("a store of gates that is away costs no lease", async () => {
    const keeper = keeperOver(flow);
    keeper.hold(holder(1));
    await enterGates(deps, stream(1), [two]);
    broken = true;
    await keeper.beat();
    expect(warned).toEqual(["places not renewed"]);
    broken = false;
    await keeper.beat();
    expect(asked.at(-1)).toBe("renew task:w0t1");
    keeper.close();
  });
});

test("calls of either kind are told apart by the store's clock", async () => {
  const calls: Call[] = [
    { stream: stream(1), at: 5, now: 5 },
    { stream: { agent: "crew", runId: "r", streamId: "run" }, at: 5, now: 5 },
    { stream: stream(2), at: 9, now: 5 },
  ];
  const calling = { ...store, leave: async () => calls };
  await leaveGates(depsWith(calling), stream(7), [two]);
  expect(sent.map((m) => [m.queue, m.hint.taskId])).toEqual([
    ["tasks-short", "w0t1"],
    ["ticks", null],
  ]);
  expect(timed).toEqual([["w0t2", 4]]);
});
