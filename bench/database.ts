// The database that is measured: one of its own on the user's server (DATABASE_URL), or on an embedded server of its own, as durable as the product's.
import { randomUUID } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { openEmbedded } from "../shared/adapters/database/embedded.ts";
import type { PoolSizes } from "../shared/adapters/database/pools.ts";
import { openUrl } from "../shared/adapters/database/url.ts";
import type { Database } from "../shared/ports/database.ts";

export interface BenchDatabase {
  readonly url: string;
  /** `embedded`, or `DATABASE_URL`; and the server's version. */
  readonly server: string;
  /** Pools as a worker has them; whoever opens them closes them. */
  open(sizes?: PoolSizes): Promise<Database>;
  /** One connection with the driver's own settings: what the bare statements run on. */
  connect(): Promise<pg.Client>;
  /** Drops the database, and ends a server of its own. */
  drop(): Promise<void>;
}

export async function createBenchDatabase(databaseUrl: string | undefined): Promise<BenchDatabase> {
  const server = databaseUrl ? await openUrl(databaseUrl) : await ownServer();
  const name = `toren_bench_${randomUUID().slice(0, 8)}`;
  try {
    await server.pool.query(`CREATE DATABASE ${name}`);
  } catch (e) {
    await server.close();
    throw new Error(`The bench makes a database of its own and could not: ${e instanceof Error ? e.message : e}`, {
      cause: e,
    });
  }
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  const { rows } = await server.pool.query<{ server_version: string }>("SHOW server_version");
  return {
    url: url.href,
    server: `PostgreSQL ${rows[0]?.server_version.split(" ")[0]}, ${databaseUrl ? "DATABASE_URL" : "embedded"}`,
    open: (sizes = {}) => openUrl(url.href, sizes),
    connect: async () => {
      const client = new pg.Client({ connectionString: url.href });
      await client.connect();
      return client;
    },
    drop: async () => {
      await server.pool.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await server.close();
    },
  };
}

async function ownServer(): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), "toren-bench-"));
  await chmod(folder, 0o755); // the server may run as another account
  const database = await openEmbedded(folder);
  return {
    ...database,
    close: async () => {
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
