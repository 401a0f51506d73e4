// Each kind of trouble by itself, over every program.
import { describe, expect, jest, test } from "@jest/globals";
import { GUARDIAN_EVERY_MS, LEASE_MS } from "../../shared/core/limits.ts";
import { CALM, type Weather } from "./faults.ts";
import type { Program } from "./program.ts";
import { PROGRAMS } from "./programs.ts";
import { simulate, told, type Verdict } from "./simulate.ts";
import { World } from "./world.ts";

/** On a busy machine; alone each takes a few seconds. */
jest.setTimeout(180_000);

const named = (name: string): Program => {
  const found = PROGRAMS.find((p) => p.name === name);
  if (found === undefined) throw new Error(`no program is called ${name}`);
  return found;
};
const sound = (verdict: Verdict): Verdict => {
  if (verdict.wrong.length > 0) throw new Error(told(verdict));
  return verdict;
};
const SEEDS = [101, 102, 103, 104, 105, 106];
async function under(weather: Weather): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const program of PROGRAMS)
    for (const seed of SEEDS) verdicts.push(sound(await simulate(seed, { program, weather })));
  return verdicts;
}

describe("the same outputs", () => {
  test("I9: with hints doubled, reordered, delayed, and 30 % of them lost", async () => {
    const verdicts = await under("hints lost, doubled, late and reordered");
    const lost = verdicts.flatMap((v) => v.world.scheduler.story).filter((line) => / lost (ticks|tasks)/.test(line));
    expect(lost.length).toBeGreaterThan(100);
  });

  test("I12: with zombies: workers that stand still past their leases, and go on", async () => {
    const verdicts = await under("workers stand still past their leases");
    const stories = verdicts.flatMap((v) => v.world.scheduler.story);
    expect(stories.filter((line) => line.endsWith(": lost")).length).toBeGreaterThan(3); // fenced, and quiet about it
  });

  test("with workers that die, and with edits besides", async () => {
    await under("workers die");
    await under("edits while workers die and stand still");
  });

  test("with workers that stop and hand over", async () => {
    const verdicts = await under("workers stop and hand over");
    const stories = verdicts.flatMap((v) => v.world.scheduler.story);
    expect(stories.filter((line) => line.endsWith(": handedOver")).length).toBeGreaterThan(3);
  });

  test("with lost answers and requests, and a database that is away for a while", async () => {
    await under("answers and requests lost");
    await under("everything");
  });

  test("with lost acknowledgements: each append that landed is known to have, but where another has the stream by then", async () => {
    const judged: string[] = [];
    for (const program of PROGRAMS) {
      const faults = { ...CALM, adverse: true, workers: 2, slow: 0.1, answerLost: 0.3, requestLost: 0.1, tries: 50 };
      for (const seed of SEEDS) judged.push(...sound(await simulate(seed, { program, faults })).world.db.judged);
    }
    expect(judged.filter((verdict) => verdict === "ok").length).toBeGreaterThan(256);
    expect(judged.filter((verdict) => !["ok", "conflict park", "conflict release"].includes(verdict))).toEqual([]);
  });

  test("with four workers whose batches overlap, and no deadlock", async () => {
    for (const seed of SEEDS) {
      const faults = { ...CALM, adverse: true, runs: 3, workers: 4, modelMs: 2, slow: 0.3 };
      for (const name of ["waves", "nested", "failing waves"])
        sound(await simulate(seed, { program: named(name), faults }));
    }
  });
});

describe("a dead worker's stream", () => {
  test.each(SEEDS)(
    "is taken over within a lease and 5 s, though workers' clocks are five minutes off (c14; seed %i)",
    async (seed) => {
      const world = new World(seed, named("one task with tools"), { ...CALM, workers: 2 });
      world.start();
      const row = () => world.runs[0]?.streams.get("task:w0t0");
      while (row()?.status !== "running" || world.provider.ledger.length < 1 + (seed % 3)) await world.turn();
      const epoch = row()?.leaseEpoch ?? 0;
      const holder = world.workers.find((w) => w.deps.keeper.size > 0);
      if (holder === undefined) throw new Error("nobody holds the lease of a running stream");
      world.crash(holder);
      const died = world.scheduler.now;
      while ((row()?.leaseEpoch ?? 0) === epoch) await world.turn();
      expect(world.scheduler.now - died).toBeLessThanOrEqual(LEASE_MS + GUARDIAN_EVERY_MS);
      while (!world.over) await world.turn();
      expect(world.runs[0]?.record.ended).toBe("completed");
    },
  );
});

describe("I7: a prompt that every worker reads differently", () => {
  test("is cut three times in five minutes at most, waits then, and no wait counts as a death", async () => {
    const program = named("an unstable prompt");
    let waits = 0;
    for (let seed = 1; seed <= 12; seed++) {
      const faults = { ...CALM, adverse: true, workers: 3, invocationMs: 61_000, modelMs: 4_000 };
      const { world } = sound(await simulate(seed, { program, faults }));
      waits += world.scheduler.story.filter((line) => line.endsWith(": deferred")).length;
      for (const [, log] of world.runs.flatMap((run) => [...run.events])) {
        const cuts = log.filter((e) => e.type === "StreamInvalidated").map((e) => e.recordedAt);
        for (const [i, at] of cuts.entries()) expect(at - (cuts[i - 3] ?? 0)).toBeGreaterThan(5 * 60_000);
      }
    }
    expect(waits).toBeGreaterThan(5);
  });
});
