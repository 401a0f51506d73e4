// Kill the whole stack right after write n, for every n, and lose write n's reply with the process alive; recover; the same output, every recorded
// call paid once. Double faults: again at write m of the recovery, some twelve pairs a scenario; MATRIX_SAMPLE=1 tries every pair.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Fate, fate } from "../../local/testing/mortal.ts";
import { migrate } from "../../shared/adapters/store/migrate.ts";
import { createRandom } from "../sim/random.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { disturb, expectWhole } from "./matrix.ts";
import { AGENT, type Scenario } from "./world.ts";

const PAIRS = 12;
/** Every how-manieth pair is tried. */
const SAMPLE = process.env.MATRIX_SAMPLE === undefined ? null : Number(process.env.MATRIX_SAMPLE);
const SEED = Number(process.env.MATRIX_SEED ?? Math.floor(Math.random() * 1e6));
console.log(`kill matrix: MATRIX_SEED=${SEED}`);

/** The tests of these scenarios. They are spread over files, so that all processors share them. */
export function killMatrix(scenarios: readonly Scenario[]): void {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await testDatabase();
    await migrate(db.database, [AGENT]);
  });
  afterAll(async () => await db.drop());

  describe.each(scenarios.map((s) => [s.name, s] as const))("%s", (_, scenario) => {
    const { promise: undisturbed, resolve, reject } = Promise.withResolvers<number>();
    undisturbed.catch(() => {}); // nobody may be left to wait for it
    const random = createRandom(SEED);
    const row = async (what: string, hands: readonly Fate[], writes: number): Promise<void> => {
      const cancelAt = scenario.cancelled ? 1 + random.int(writes) : null;
      const run = await disturb(db.database, scenario, hands, cancelAt);
      await expectWhole(db.database, scenario, run).catch((e: Error) => {
        throw new Error(`${what} of ${writes}, cancelled at ${cancelAt}, run ${run.runId}: ${e.message}`);
      });
    };

    test("undisturbed", async () => {
      const counted = fate();
      try {
        await expectWhole(db.database, scenario, await disturb(db.database, scenario, []));
        await expectWhole(db.database, scenario, await disturb(db.database, scenario, [counted]));
      } catch (broken) {
        reject(new Error("undisturbed it fails already"));
        throw broken;
      }
      resolve(counted.writes);
      expect(counted.writes).toBeGreaterThan(5);
    });

    for (const how of ["kill", "loseReply"] as const) {
      test(`I1 I5 I9: ${how === "kill" ? "killed right after" : "the reply lost of"} write n, for every n`, async () => {
        const writes = await undisturbed;
        for (let n = 1; n <= writes; n++) await row(`${how} at write ${n}`, [fate(n, how)], writes);
      }, 120_000);
    }

    test(
      "double faults: killed at write n, and again at write m of the recovery",
      async () => {
        const writes = await undisturbed;
        const every = SAMPLE ?? Math.max(1, Math.floor(writes ** 2 / PAIRS));
        let tried = 0;
        for (let pair = random.int(every); pair < writes ** 2; pair += every) {
          const [n, m] = [1 + Math.floor(pair / writes), 1 + (pair % writes)];
          await row(`killed at write ${n}, then ${m}`, [fate(n), fate(m)], writes);
          tried++;
        }
        expect(tried).toBeGreaterThan(3);
        if (SAMPLE !== null) process.stderr.write(`${scenario.name}: ${tried} pairs of ${writes} writes, all well\n`); // it takes hours
      },
      SAMPLE === null ? 120_000 : 7_200_000,
    );
  });
}
