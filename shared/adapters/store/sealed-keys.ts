// Which keys open what the database holds: for people who look after it.
import { SEALED_KEY } from "../../core/json.ts";
import { sealedAway } from "../../core/sealing.ts";
import type { Database } from "../../ports/database.ts";
import { createStatements } from "./statements.ts";

export interface KeyInUse {
  readonly keyId: string;
  /** Runs, and headers, files and schedules, whose data keys it wraps. */
  readonly count: number;
  /** Why it doesn't open them; null: it does. */
  readonly problem: string | null;
}

interface Row {
  readonly key_id: string;
  readonly count: number;
  readonly sample: string;
}

/** By the keys' ids; each is tried on one data key. */
export async function keysInUse(database: Pick<Database, "appends" | "pool" | "sealer">): Promise<KeyInUse[]> {
  const { ask, seals } = createStatements(database);
  const agents = await ask<{ agent: string }>("list-agents", null, []);
  const counts = await Promise.all([
    ask<Row>("count-sealed-files", null, [SEALED_KEY]),
    ...agents.map(({ agent }) => ask<Row>("count-sealed-runs", agent, [SEALED_KEY])),
  ]);
  const byKey = Map.groupBy(counts.flat(), (row) => row.key_id);
  return await Promise.all(
    [...byKey]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(async ([keyId, rows]) => {
        const count = rows.reduce((sum, row) => sum + row.count, 0);
        try {
          await seals.sealer.unwrap(rows[0]?.sample ?? "");
          return { keyId, count, problem: null };
        } catch (e) {
          const problem = sealedAway(e);
          if (problem === null) throw e;
          return { keyId, count, problem: problem.message };
        }
      }),
  );
}
