// The two pools of a worker. Used by every twin of the database port.
import pg, { type Client, type Pool, type PoolClient, type PoolConfig, type QueryConfig } from "pg";
import {
  APPEND_CONNECTIONS,
  CONNECT_TIMEOUT_MS,
  CONNECTION_IDLE_MS,
  IDLE_IN_TRANSACTION_TIMEOUT_MS,
  LOCK_TIMEOUT_MS,
  POOL_CONNECTIONS,
  POOL_STATEMENT_TIMEOUT_MS,
  STATEMENT_TIMEOUT_MS,
} from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import { isConnectionLost } from "./failures.ts";

export interface PoolSizes {
  /** Connections for appends, 4 by default. */
  readonly appends?: number;
  /** Connections for everything else, 8 by default. */
  readonly pool?: number;
}

// An append touches a handful of rows by key. A plan cached while its tables were small would read them whole for ever after: seen to cost 15 times as much.
// With these there is only the plan by key, so it may be cached: left to itself Postgres plans an append anew each time, for as long as it takes to run it.
const APPEND_PLANS =
  "-c jit=off -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c plan_cache_mode=force_generic_plan";

/** A connection string, or what it would say: where passwords are short-lived, and certificates are our own. */
export type Place = string | Readonly<PoolConfig>;

// What an estimate takes for costly is compiled first, for up to a second: longer than any statement of ours takes.
const READ_PLANS = "-c jit=off";

/** Where to connect, with planner settings that the URL asks for itself kept beside ours. */
export function connectionConfig(place: Place, settings = ""): PoolConfig {
  if (typeof place !== "string") return { ...COMMON, ...place, ...withOptions(place.options ?? "", settings) };
  const parsed = URL.parse(place);
  const own = parsed?.searchParams.get("options") ?? "";
  parsed?.searchParams.delete("options");
  const connectionString = own === "" ? place : (parsed?.href ?? place);
  return { ...COMMON, connectionString, ...withOptions(own, settings) };
}

const COMMON = { connectionTimeoutMillis: CONNECT_TIMEOUT_MS, keepAlive: true, application_name: "toren" } as const;

function withOptions(own: string, settings: string): { options?: string } {
  const options = `${own} ${settings}`.trim();
  return options === "" ? {} : { options };
}

/** @throws nothing: connections are made when first used. */
export function openPools(place: Place, sizes: PoolSizes = {}): Pick<Database, "appends" | "pool" | "session"> {
  const common = { idleTimeoutMillis: CONNECTION_IDLE_MS, allowExitOnIdle: true };
  const appends = keepConnections({
    ...connectionConfig(place, APPEND_PLANS),
    ...common,
    max: sizes.appends ?? APPEND_CONNECTIONS,
    lock_timeout: LOCK_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
  });
  const pool = keepConnections({
    ...connectionConfig(place, READ_PLANS),
    ...common,
    max: sizes.pool ?? POOL_CONNECTIONS,
    statement_timeout: POOL_STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
  });
  return { appends, pool, session: () => openSession(place) };
}

async function openSession(place: Place): Promise<Client> {
  const client = new pg.Client({ ...connectionConfig(place), application_name: "toren listener" });
  client.on("error", () => {});
  await client.connect();
  keepsProcess(client, false);
  return client;
}

/**
 * A pool whose `query` gives a connection up only when it is lost. The driver's own drops it after any error, and a unique violation is an everyday answer
 * here (the second of two equal facts): a new connection costs more than a hundred statements. Promises only, no callbacks.
 */
function keepConnections(config: PoolConfig): Pool {
  const pool = new pg.Pool(config);
  // Without a listener an idle connection's end would end the process; the pool has dropped it by then.
  pool.on("error", () => {});
  // The driver takes its own listener away while a connection is checked out.
  pool.on("connect", (client) => client.on("error", () => {}));
  dropStale(pool);
  const query = async (text: string | QueryConfig, values?: unknown[]) => {
    const client = await pool.connect();
    return runAndRelease(client, text, values);
  };
  pool.query = query as Pool["query"];
  return pool;
}

/**
 * A connection that was idle for too long isn't used again: of a laptop that slept, or a function that was frozen, with whose timers the pool's own limit
 * stood still. By the wall clock, which goes on meanwhile.
 */
function dropStale(pool: Pool): void {
  const usedAt = new WeakMap<object, number>();
  pool.on("release", (_, client) => usedAt.set(client, Date.now()));
  const connect: () => Promise<PoolClient> = pool.connect.bind(pool);
  const fresh = async (): Promise<PoolClient> => {
    for (;;) {
      const client = await connect();
      const last = usedAt.get(client);
      if (last === undefined || Date.now() - last <= CONNECTION_IDLE_MS) return client;
      client.release(true);
    }
  };
  pool.connect = fresh as Pool["connect"];
}

async function runAndRelease(client: PoolClient, text: string | QueryConfig, values: unknown[] | undefined) {
  try {
    const result = await client.query(text, values);
    client.release();
    return result;
  } catch (e) {
    client.release(isConnectionLost(e));
    throw e;
  }
}

/**
 * Keeps the process until these are closed. Idle connections don't, not even while they are being closed: Node would find nothing left to do in the middle
 * of it, and end with exit 13.
 */
export async function untilClosed(closing: readonly Promise<unknown>[]): Promise<void> {
  const held = setInterval(() => {}, CONNECTION_IDLE_MS); // any time does: nothing happens then
  try {
    await Promise.all(closing);
  } finally {
    clearInterval(held);
  }
}

/** Whether this connection alone keeps the process alive. The driver has both methods, its types don't. */
export function keepsProcess(client: Client & { ref?(): void; unref?(): void }, keeps: boolean): void {
  if (keeps) client.ref?.();
  else client.unref?.();
}
