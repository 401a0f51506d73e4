// Virtual time. Postgres' clock is the only one that decides what is due (I8), so a test's database gets a clock that can be put forward: functions that
// stand before the built-in ones on its search path. Nothing else sees them, and the machine's clock stays as it is.
import type { Client } from "pg";
import type { EngineDeps } from "../../shared/engine/deps.ts";
import type { Database } from "../../shared/ports/database.ts";

/** Postgres' functions that read a clock, with how often each may be read in a statement. `CURRENT_TIMESTAMP` and its like are syntax and can't be stood before: no query uses them. */
export const CLOCKS: Readonly<Record<string, "STABLE" | "VOLATILE">> = {
  clock_timestamp: "VOLATILE",
  statement_timestamp: "STABLE",
  transaction_timestamp: "STABLE",
  now: "STABLE",
};

/** Each of them, ahead by so many milliseconds. Replacing them renews plans that were cached. */
const ahead = (ms: number): string =>
  Object.entries(CLOCKS)
    .map(
      ([name, volatility]) => `
        CREATE OR REPLACE FUNCTION toren_clock.${name}() RETURNS timestamptz LANGUAGE sql ${volatility} PARALLEL SAFE
          AS $$ SELECT pg_catalog.${name}() + ${ms} * interval '1 ms' $$;`,
    )
    .join("");

/** For connections made from now on. `client` is connected to the database `name`. */
export async function installClock(client: Client, name: string): Promise<void> {
  await client.query(`CREATE SCHEMA toren_clock; ${ahead(0)}`);
  await client.query(`ALTER DATABASE ${name} SET search_path = toren_clock, pg_catalog, public`);
}

/**
 * The database's clock goes to `totalMs` ahead of the machine's, `byMs` more than before. In the same transaction leases, places and claimed messages are prolonged
 * by as much: their worker lives, and its heartbeats would have done it.
 */
export async function putForward(database: Database, agent: string, totalMs: number, byMs: number): Promise<void> {
  await database.pool.query(`${ahead(totalMs)}
    UPDATE agent_${agent}.streams SET lease_until = lease_until + ${byMs} * interval '1 ms' WHERE lease_until IS NOT NULL;
    UPDATE toren_control.gate_entries SET until = until + ${byMs} * interval '1 ms' WHERE inside;
    UPDATE toren_control.queue_messages SET visible_at = visible_at + ${byMs} * interval '1 ms' WHERE receipt IS NOT NULL`);
}

/** How far the database's clock is ahead of the machine's, in milliseconds. */
export async function aheadBy({ pool }: Pick<Database, "pool">): Promise<number> {
  const sql = "SELECT (extract(epoch FROM toren_clock.now() - pg_catalog.now()) * 1000)::int AS ms";
  return (await pool.query<{ ms: number }>(sql)).rows[0]?.ms ?? 0;
}

/** As if a lease and a visibility time had passed since the worker died: whoever is next needs not wait for them. */
export async function passTime(database: Database, agent: string): Promise<void> {
  await database.pool.query(`
    UPDATE agent_${agent}.streams SET lease_until = clock_timestamp() - interval '1 s' WHERE lease_until IS NOT NULL;
    UPDATE agent_${agent}.streams SET wake_at = clock_timestamp() - interval '1 s' WHERE wake_at IS NOT NULL AND status IN ('ready', 'running');
    UPDATE toren_control.gate_entries SET until = clock_timestamp() - interval '1 s' WHERE inside;
    UPDATE toren_control.queue_messages SET visible_at = clock_timestamp() - interval '1 s'`);
}

export interface Sleepers {
  readonly sleep: EngineDeps["sleep"];
  /** All who sleep have `ms` less to sleep. */
  advance(ms: number): void;
  /** Of a worker that is no more: its timers would keep the process. */
  wakeAll(): void;
}

/** A worker's short waits (a model's back-off, a tool's retry and time-out): real ones, until time is put forward. */
export function createSleepers(): Sleepers {
  const sleeping = new Set<(ms: number) => void>();
  const advance = (ms: number): void => {
    for (const sooner of sleeping) sooner(ms);
  };
  return {
    advance,
    wakeAll: () => advance(Number.POSITIVE_INFINITY),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        let end = performance.now() + ms;
        let timer = setTimeout(wake, ms);
        function wake(): void {
          clearTimeout(timer);
          sleeping.delete(sooner);
          signal?.removeEventListener("abort", wake);
          resolve();
        }
        function sooner(byMs: number): void {
          clearTimeout(timer);
          end -= byMs;
          timer = setTimeout(wake, Math.max(0, end - performance.now()));
        }
        sleeping.add(sooner);
        signal?.addEventListener("abort", wake, { once: true });
      }),
  };
}
