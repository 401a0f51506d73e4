// A database whose user dies, or whose replies are lost, right after its n-th write: the kill matrix's hand.
import type { Pool } from "pg";
import type { Database } from "../../shared/ports/database.ts";
import { QUERIES } from "../../shared/sql/queries.ts";

export interface Fate {
  /** Writes that have returned so far. */
  writes: number;
  /** What happens right after write `at`: `kill`: no reply, and nothing of this stack happens any more. `loseReply`: the write landed, its caller sees a broken connection. */
  readonly at: number | null;
  readonly how: "kill" | "loseReply";
  dead: boolean;
  onDeath: () => void;
  /** Statements under way: what a dead stack had sent still lands. */
  readonly underWay: Set<Promise<unknown>>;
}

export const fate = (at: number | null = null, how: Fate["how"] = "kill"): Fate => ({
  writes: 0,
  at,
  how,
  dead: false,
  onDeath: () => {},
  underWay: new Set(),
});

const never = <T>(): Promise<T> => new Promise<T>(() => {});

const withoutComments = (sql: string): string => sql.replaceAll(/--.*$/gm, "");
const isWrite = (query: unknown): boolean => {
  const text = typeof query === "string" ? query : ((query as { text?: string }).text ?? "");
  return /\b(INSERT\s+INTO|UPDATE\s+\S+\s+(\S+\s+)?SET|DELETE\s+FROM)\b/i.test(withoutComments(text));
};

/** Nothing of the engine waits for a notification, but closing its queue does: that of a dead worker fails instead of never returning. */
async function notified(pool: Pool, fate: Fate, args: unknown[]): Promise<unknown> {
  if (fate.dead) throw new Error("The worker is dead.");
  return await (pool.query as (...a: unknown[]) => Promise<unknown>)(...args);
}

export function mortal(database: Database, fate: Fate): Database {
  return { ...database, appends: mortalPool(database.appends, fate), pool: mortalPool(database.pool, fate) };
}

function mortalPool(pool: Pool, fate: Fate): Pool {
  const query = async (...args: unknown[]): Promise<unknown> => {
    if (args[0] === QUERIES.notify) return await notified(pool, fate, args);
    if (fate.dead) return never();
    const sent = (pool.query as (...a: unknown[]) => Promise<unknown>)(...args);
    fate.underWay.add(sent);
    const result = await sent.finally(() => fate.underWay.delete(sent));
    if (fate.dead) return never(); // it landed, and nobody is there to hear it
    if (!isWrite(args[0]) || (result as { rowCount: number | null }).rowCount === 0) return result; // an empty look into a queue writes nothing
    fate.writes++;
    if (fate.writes !== fate.at) return result;
    if (fate.how === "loseReply")
      throw Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
    fate.dead = true;
    fate.onDeath();
    return never();
  };
  return new Proxy(pool, { get: (target, name) => (name === "query" ? query : Reflect.get(target, name, target)) });
}
