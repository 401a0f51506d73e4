// A guardian's pass looks at what is due, not at what is parked: the same fifty due streams among many parked ones and among few.
import type { Pool } from "pg";
import { guard } from "../../shared/engine/guard.ts";
import { instant } from "../agents.ts";
import { FEW, forgetHints, MANY } from "../ground.ts";
import type { Half } from "../half.ts";
import { type Measure, measures, median, ratioOf, type Statistics, timed } from "../measure.ts";
import { createEngine } from "../stack.ts";

const DUE = 50;

export async function measureGuardian(
  { database }: Half,
  statistics: Statistics,
  { few, many, times }: { readonly few: number; readonly many: number; readonly times: number },
): Promise<Measure[]> {
  const engines = [createEngine(database, [FEW], instant()), createEngine(database, [MANY], instant())] as const;
  const due = Math.min(DUE, few / 2);
  const pass = async (of: 0 | 1): Promise<number> => {
    await ring(database.pool, of === 0 ? FEW : MANY, due);
    let nudged = 0;
    const ms = await timed(async () => {
      ({ nudged } = await guard(engines[of].deps));
    });
    if (nudged !== due) throw new Error(`the guardian nudged ${nudged} streams of ${due} that are due`);
    await forgetHints(database.pool);
    return ms;
  };
  const [small, large]: [number[], number[]] = [[], []];
  for (let i = -2; i < times; i++) {
    // Whoever comes second finds a warmer cache: they take turns.
    const turn: (0 | 1)[] = i % 2 === 0 ? [0, 1] : [1, 0];
    for (const of of turn) {
      const ms = await pass(of);
      if (i >= 0) (of === 0 ? small : large).push(ms);
    }
  }
  for (const engine of engines) await engine.close();
  const measure = measures("guardian", statistics);
  const { value, spread } = ratioOf(large, small);
  const [f, m] = [few.toLocaleString("en"), many.toLocaleString("en")];
  return [
    measure(`a pass over ${f} parked, ${due} due`, median(small), "ms"),
    measure(`a pass over ${m} parked, ${due} due`, median(large), "ms"),
    measure(`a pass, ${m} : ${f} parked`, value, "×", { target: { atMost: 1.2 }, spread }),
  ];
}

/** The clocks of some timers ring; those of the pass before are set for tomorrow again. */
async function ring(pool: Pool, agent: string, due: number): Promise<void> {
  const streams = `agent_${agent}.streams`;
  await pool.query(
    `UPDATE ${streams} SET wake_at = clock_timestamp() + interval '1 day' WHERE wake_at < clock_timestamp() + interval '1 hour'`,
  );
  await pool.query(
    `UPDATE ${streams} SET wake_at = clock_timestamp() - interval '1 s' WHERE (run_id, stream_id) IN
       (SELECT run_id, stream_id FROM ${streams} WHERE wake_at IS NOT NULL ORDER BY run_id LIMIT $1::int)`,
    [due],
  );
}
