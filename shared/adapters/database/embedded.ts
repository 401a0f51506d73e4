// A Postgres of our own, when the user has none: started in the user's state folder, shared by all processes that open it. Twin: url.ts.
//
// Whoever opens it holds a shared advisory lock on a session of its own for as long as it lives: the server itself knows its users, and forgets those that
// were killed. Whoever leaves tries for the exclusive lock; who gets it was the last, and ends the server. A server that everybody was killed away from
// runs on, and the next to open the folder joins it. If the server is killed, the first of its users to notice starts it again on the same port.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg, { type Client } from "pg";
import { messageOf, TorenError } from "../../core/errors.ts";
import { EMBEDDED_START_MS } from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import { type OpenOptions, once, openChecked } from "./connect.ts";
import { accountFor } from "./embedded-account.ts";
import { binariesFor } from "./embedded-binaries.ts";
import { type Cluster, ensureCluster, PASSWORD_FILE, SUPERUSER } from "./embedded-cluster.ts";
import {
  findServer,
  freePort,
  lastPort,
  lastWords,
  type Running,
  type ServerSettings,
  startServer,
  stopServer,
} from "./embedded-server.ts";
import { isAway } from "./failures.ts";
import { connectionConfig, keepsProcess } from "./pools.ts";

export interface EmbeddedOptions extends OpenOptions {
  /** True by default. False only for tests: a crash of the machine may then ruin the data. */
  readonly durable?: boolean;
}

export interface EmbeddedDatabase extends Database {
  readonly port: number;
  /** Of the server's main process, now. */
  pid(): number;
  /** True when the server was running already. */
  readonly joined: boolean;
}

/**
 * Opens the database in `folder` (`folder/postgres`, its log in `folder/postgres.log`), starting its server if nobody has.
 * Works as root too: the server then runs as another account. `close` ends the server if nobody else uses it.
 * @throws TorenError `database.unavailable` with what the server said last.
 */
export async function openEmbedded(folder: string, options: EmbeddedOptions = {}): Promise<EmbeddedDatabase> {
  const place = join(folder, "postgres");
  const account = await accountFor(place);
  const binaries = await binariesFor(account);
  const cluster = await ensureCluster(place, binaries, account);
  const settings = { durable: options.durable ?? true, logFile: join(folder, "postgres.log"), binaries, account };
  const membership = await becomeMember(cluster, settings, options);
  const url = addressOf(cluster, membership.running().port);
  try {
    const database = await openChecked(url, options);
    const close = once(async () => {
      await database.close();
      await membership.leave();
    });
    return {
      ...database,
      close,
      port: membership.running().port,
      pid: () => membership.running().pid,
      joined: membership.joined,
    };
  } catch (e) {
    await membership.leave();
    throw e;
  }
}

/** Where the password of the database in `folder` is, and what its running server says of itself: for people who connect by themselves. */
export const embeddedFiles = (folder: string): { readonly password: string; readonly pid: string } => ({
  password: join(folder, "postgres", PASSWORD_FILE),
  pid: join(folder, "postgres", "postmaster.pid"),
});

const addressOf = (cluster: Cluster, port: number): string =>
  `postgres://${SUPERUSER}:${cluster.password}@127.0.0.1:${port}/postgres`;

interface Membership {
  readonly joined: boolean;
  running(): Running;
  leave(): Promise<void>;
}

// Any pair of numbers that nobody else's advisory locks use; in the database `postgres`, as such locks are per database.
const USERS_LOCK = "1953460590, 1";

async function becomeMember(cluster: Cluster, settings: ServerSettings, options: OpenOptions): Promise<Membership> {
  let state = await enter(cluster, settings, options);
  const { joined } = state;
  let left = false;
  const watch = (client: Client): void => {
    client.once("end", () => {
      if (!left) void reenter();
    });
  };
  const reenter = async (): Promise<void> => {
    while (!left) {
      try {
        state = await enter(cluster, settings, options, state.running.port);
        if (left) return await leaveServer(cluster, state);
        return watch(state.client);
      } catch {
        await sleep(1_000, undefined, { ref: false }); // its users say what is wrong; this only keeps trying
      }
    }
  };
  watch(state.client);
  return {
    joined,
    running: () => state.running,
    leave: async () => {
      left = true;
      await leaveServer(cluster, state);
    },
  };
}

interface Entered {
  readonly running: Running;
  readonly client: Client;
  readonly joined: boolean;
}

async function enter(
  cluster: Cluster,
  settings: ServerSettings,
  options: OpenOptions,
  port?: number,
): Promise<Entered> {
  const deadline = performance.now() + EMBEDDED_START_MS;
  let told = false;
  let started = false;
  for (let round = 0; performance.now() < deadline; round++) {
    const found = await findServer(cluster);
    const client = found?.ready ? await becomeUser(addressOf(cluster, found.port)) : null;
    if (found !== null && client !== null) return { running: found, client, joined: !started };
    if (found === null) {
      // The second try takes any port: somebody else may have got the wanted one between the look and the start.
      const wanted = round < 2 ? (port ?? (await lastPort(cluster))) : null;
      const running = await startServer(cluster, await freePort(wanted), settings, deadline);
      if (running !== null) started = true;
      else await sleep(100);
    } else {
      if (!told && round > 20) options.onProgress?.("Waiting for the embedded Postgres …");
      told ||= round > 20;
      await sleep(25);
    }
  }
  const words = await lastWords(settings.logFile);
  throw new TorenError(
    "database.unavailable",
    `The embedded Postgres in ${cluster.directory} did not start. ${words || "Its log is empty."} See ${settings.logFile}, or set DATABASE_URL.`,
  );
}

/** A session that counts as a user; null while the server is starting or on its way out. */
async function becomeUser(url: string): Promise<Client | null> {
  const client = new pg.Client({ ...connectionConfig(url), application_name: "toren user" });
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ in: boolean }>(`SELECT pg_try_advisory_lock_shared(${USERS_LOCK}) AS in`);
    if (rows[0]?.in) {
      keepsProcess(client, false); // being a user keeps no process alive
      return client;
    }
  } catch (e) {
    if (!isAway(e))
      throw new TorenError("database.unavailable", `The embedded Postgres refused us: ${messageOf(e)}`, { cause: e });
  }
  await client.end().catch(() => {});
  return null;
}

async function leaveServer(cluster: Cluster, { client, running }: Entered): Promise<void> {
  try {
    keepsProcess(client, true);
    await client.query(`SELECT pg_advisory_unlock_shared(${USERS_LOCK})`);
    const { rows } = await client.query<{ last: boolean }>(`SELECT pg_try_advisory_lock(${USERS_LOCK}) AS last`);
    if (rows[0]?.last) await stopServer(running, cluster);
  } catch {
    // The server is gone already.
  }
  await client.end().catch(() => {});
}
