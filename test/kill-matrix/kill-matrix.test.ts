// Kill the whole stack right after write n, for every n, and lose write n's reply with the process alive; recover; the same output, every recorded
// call paid once. Double faults: again at write m of the recovery. MATRIX_SAMPLE=1 tries every pair.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { migrate } from "../../shared/adapters/store/migrate.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { fate } from "../support/mortal.ts";
import { disturb, expectWhole } from "./matrix.ts";
import { AGENT, SCENARIOS } from "./scenarios.ts";

const SAMPLE = Number(process.env.MATRIX_SAMPLE ?? 23);

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, [AGENT]);
});
afterAll(async () => await db.drop());

describe.each(SCENARIOS.map((s) => [s.name, s] as const))("%s", (_, scenario) => {
  const { promise: undisturbed, resolve } = Promise.withResolvers<number>();

  test("undisturbed", async () => {
    const run = await disturb(db.database, scenario, []);
    await expectWhole(db.database, scenario, run);
    const counted = fate();
    const again = await disturb(db.database, scenario, [counted]);
    await expectWhole(db.database, scenario, again);
    resolve(counted.writes);
    expect(counted.writes).toBeGreaterThan(5);
  });

  for (const how of ["kill", "loseReply"] as const) {
    test(`I1 I5 I9: ${how === "kill" ? "killed right after" : "the reply lost of"} write n, for every n`, async () => {
      const writes = await undisturbed;
      for (let n = 1; n <= writes; n++) {
        const run = await disturb(db.database, scenario, [fate(n, how)]);
        await expectWhole(db.database, scenario, run).catch((e: Error) => {
          throw new Error(`${how} at write ${n} of ${writes}, run ${run.runId}: ${e.message}`);
        });
      }
    }, 120_000);
  }

  test("double faults: killed at write n, and again at write m of the recovery", async () => {
    const writes = await undisturbed;
    let tried = 0;
    for (let pair = 0; pair < writes * writes; pair += SAMPLE) {
      const [n, m] = [1 + Math.floor(pair / writes), 1 + (pair % writes)];
      const run = await disturb(db.database, scenario, [fate(n), fate(m)]);
      await expectWhole(db.database, scenario, run).catch((e: Error) => {
        throw new Error(`killed at write ${n}, then ${m}, run ${run.runId}: ${e.message}`);
      });
      tried++;
    }
    expect(tried).toBeGreaterThan(3);
  }, 180_000);
});
