// The pulse as a row of the control schema: each beat is a compare-and-swap on it, so that doubled messages don't multiply.
import type { PoolClient } from "pg";
import { GUARDIAN_INVOCATION_MS, PULSE_HORIZON_MS, PULSE_LATE_MS, PULSE_MS } from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import type { Pulse } from "../../ports/pulse.ts";
import { QUERIES, type Verb } from "../../sql/queries.ts";
import { asUnavailable, repeatedOnce } from "../database/failures.ts";

export function createPulse({ pool }: Pick<Database, "pool">): Pulse {
  const ask = async <R>(text: string, values: unknown[]): Promise<R[]> =>
    (await repeatedOnce(() => pool.query(text, values))).rows as R[];
  return {
    soon: async (agents) => {
      let unread = false;
      for (const agent of agents) {
        const soon = await ask<{ soon: boolean }>(inSchema("find-soon", agent), [PULSE_HORIZON_MS]).catch(() => null);
        if (soon?.[0]?.soon === true) return true;
        unread ||= soon === null; // the pass says what is wrong with it; a database that is away fails below
      }
      const [row] = await ask<{ soon: boolean }>(QUERIES["find-soon-schedule"], [PULSE_HORIZON_MS, agents]);
      return unread || row?.soon === true;
    },
    // One after the other: whoever isn't alone shall take one connection, not as many as there are agents.
    oldestReadyMs: async (agents) => {
      let oldest = 0;
      for (const agent of agents) {
        const found = await ask<{ ms: number | null }>(inSchema("find-oldest-ready", agent), []).catch(() => []);
        oldest = Math.max(oldest, Math.round(found[0]?.ms ?? 0));
      }
      return oldest;
    },
    rest: async (beat) => (await ask(QUERIES["rest-pulse"], [beat])).length > 0,
    // An answer that was lost with its connection started a beat that nobody sends: it is late after PULSE_LATE_MS.
    start: async () => {
      const [row] = await ask<{ beat: string }>(QUERIES["start-pulse"], [PULSE_MS, PULSE_LATE_MS]);
      return row === undefined ? null : Number(row.beat);
    },
    alone: async (pass) => {
      const client = await pool.connect().catch((e) => {
        throw asUnavailable(e);
      });
      let broken = true;
      try {
        if (!(await locked(client))) {
          await client.query("ROLLBACK");
          broken = false;
          return null;
        }
        const result = await pass();
        await client.query(QUERIES["note-pass"]);
        await client.query("COMMIT");
        broken = false;
        return result;
      } catch (e) {
        throw asUnavailable(e);
      } finally {
        client.release(broken); // the lock goes with its transaction, and that with its connection
      }
    },
  };
}

/** A lock of the transaction, not of the session: of a function that was frozen or killed, the server ends it by itself. */
async function locked(client: PoolClient): Promise<boolean> {
  await client.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${GUARDIAN_INVOCATION_MS}`);
  const { rows } = await client.query<{ mine: boolean }>(
    "SELECT pg_try_advisory_xact_lock(hashtext('toren guardian')) AS mine",
  );
  return rows[0]?.mine === true;
}

/** Names come from deployed agents, whose form was checked when they were loaded. */
function inSchema(verb: Verb, agent: string): string {
  if (!/^[a-z][a-z0-9_]{0,40}$/.test(agent)) throw new Error(`"${agent}" can't be an agent's name`);
  return QUERIES[verb].replaceAll(/(?<!:):agent\b/g, `agent_${agent}`);
}
