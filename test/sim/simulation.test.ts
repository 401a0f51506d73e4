// Whole runs from a seed: two or more workers at once over statements with snapshots, and a scheduler that chooses what happens next at every call of a
// port. SEEDS=2000 runs more of each program, SEED=7 one. A failure names the command that tells its story.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { PROGRAMS } from "./programs.ts";
import { randomProgram } from "./random-program.ts";
import { simulate, told } from "./simulate.ts";

const ONE = process.env.SEED;
const SEEDS = ONE === undefined ? Number(process.env.SEEDS ?? 60) : 1;
const FROM = Number(ONE ?? 1);

describe("every run ends as if nothing had gone wrong, each recorded answer paid once, and its log is sound (I1–I12)", () => {
  test.each(PROGRAMS.map((program) => ({ program, name: program.name })))(
    "$name",
    async ({ program }) => {
      for (let seed = FROM; seed < FROM + SEEDS; seed++) {
        const verdict = await simulate(seed, { program });
        if (verdict.wrong.length > 0) throw new Error(told(verdict));
      }
    },
    30_000 + SEEDS * 1_000,
  );
});

test(
  "so do workflows grown from the seed, of any shape, and edits of them",
  async () => {
    for (let seed = FROM; seed < FROM + SEEDS * 4; seed++) {
      const verdict = await simulate(seed, { program: randomProgram(seed) });
      if (verdict.wrong.length > 0) throw new Error(told(verdict));
    }
  },
  30_000 + SEEDS * 4_000,
);

describe("a seed", () => {
  test.each([3, 17, 204, 2_718])("%i tells the same story each time, to the last step", async (seed) => {
    const first = await simulate(seed);
    const again = await simulate(seed);
    expect(again.trace).toBe(first.trace);
    expect(again.world.scheduler.story).toEqual(first.world.scheduler.story);
  });

  test("tells another story than the next", async () => {
    const traces = await Promise.all([1, 2, 3, 4].map(async (seed) => (await simulate(seed)).trace));
    expect(new Set(traces).size).toBe(4);
  });
});

describe("I8: no worker's clock", () => {
  const RealDate = globalThis.Date;
  let reads = 0;
  beforeEach(() => {
    reads = 0;
    globalThis.Date = class extends RealDate {
      constructor(...args: [] | [number | string | Date]) {
        if (args.length === 0) reads++;
        super(...(args as [number]));
      }
      static override now(): number {
        reads++;
        return RealDate.now();
      }
    } as DateConstructor;
  });
  afterEach(() => {
    globalThis.Date = RealDate;
  });

  test("is looked at while runs go on, whatever happens to them", async () => {
    for (const program of PROGRAMS) {
      const verdict = await simulate(5, { program, weather: "everything" });
      expect(verdict.wrong).toEqual([]);
    }
    expect(reads).toBe(0);
    expect([Date.now() > 0, reads]).toEqual([true, 1]); // the trap works
  });
});
