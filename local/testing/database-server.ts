// One Postgres for all test files of a run: TEST_DATABASE_URL's, or an embedded one in .toren/test of the working directory that concurrent runs share.
// Who tests gets a database of its own, copied from a migrated template.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import pg, { type Client } from "pg";
import { openEmbedded } from "../../shared/adapters/database/embedded.ts";
import { openUrl } from "../../shared/adapters/database/url.ts";
import { migrate } from "../../shared/adapters/store/migrate.ts";
import type { Database } from "../../shared/ports/database.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** Databases of runs that were killed are dropped by a later run. */
const STALE_DATABASE_SECONDS = 3_600;
const STALE_TEMPLATE_SECONDS = 7 * 24 * 3_600;

const nowSeconds = (): number => Math.floor(Date.now() / 1_000);

/** The server, held open as long as the run lasts. Not durable: nothing in it outlives its test. */
export async function openTestServer(): Promise<Database> {
  const url = process.env.TEST_DATABASE_URL;
  return url ? openUrl(url) : openEmbedded(resolve(".toren/test"), { durable: false });
}

/** The same server with another database. */
export function withDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

export async function withAdmin<T>(serverUrl: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: serverUrl, application_name: "toren tests" });
  client.on("error", () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Copies the template. Names tell when they were made, for `dropStale`. */
export async function createDatabase(serverUrl: string, template: string): Promise<string> {
  const name = `toren_test_${nowSeconds()}_${Math.random().toString(36).slice(2, 10)}`;
  await withAdmin(serverUrl, (admin) => admin.query(`CREATE DATABASE ${name} TEMPLATE ${template}`));
  return name;
}

export async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await withAdmin(serverUrl, (admin) => admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
}

/**
 * The template for this state of the migrations, made by the first run that needs it: created under another name and renamed when it is whole.
 * `migrate` is whatever brings a new database up.
 */
export async function ensureTemplate(serverUrl: string): Promise<string> {
  const hash = await migrationsHash();
  return withAdmin(serverUrl, async (admin) => {
    await admin.query("SELECT pg_advisory_lock(1953460590, 2)"); // ends with this session
    await dropStale(admin);
    const found = await admin.query<{ name: string }>("SELECT datname AS name FROM pg_database WHERE datname ~ $1", [
      `^toren_template_\\d+_${hash}$`,
    ]);
    const existing = found.rows[0]?.name;
    if (existing !== undefined) return existing;
    const name = `toren_template_${nowSeconds()}_${hash}`;
    await admin.query(`DROP DATABASE IF EXISTS ${name}_new`);
    await admin.query(`CREATE DATABASE ${name}_new TEMPLATE template0 ENCODING 'UTF8'`);
    const database = await openUrl(withDatabase(serverUrl, `${name}_new`));
    try {
      await bringUp(database);
    } finally {
      await database.close();
    }
    await admin.query(`ALTER DATABASE ${name}_new RENAME TO ${name}`);
    return name;
  });
}

const bringUp = (database: Database): Promise<void> => migrate(database, []);

async function dropStale(admin: Client): Promise<void> {
  const { rows } = await admin.query<{ name: string }>(
    `SELECT datname AS name FROM pg_database d WHERE datname ~ '^toren_(test|template)_\\d+_'
       AND split_part(datname, '_', 3)::bigint < $1::bigint - CASE WHEN datname LIKE 'toren_test%' THEN $2::bigint ELSE $3::bigint END
       AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.datid = d.oid)`,
    [nowSeconds(), STALE_DATABASE_SECONDS, STALE_TEMPLATE_SECONDS],
  );
  for (const { name } of rows) await admin.query(`DROP DATABASE IF EXISTS ${name}`);
}

async function migrationsHash(): Promise<string> {
  const hash = createHash("sha256");
  for (const folder of ["shared/sql", "shared/adapters/store"]) {
    const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
    const files = entries
      .filter((e) => e.isFile() && (e.name.endsWith(".sql") || e.name === "migrate.ts"))
      .map((e) => join(e.parentPath, e.name));
    for (const file of files.sort()) hash.update(file.slice(ROOT.length)).update(await readFile(file));
  }
  return hash.digest("hex").slice(0, 12);
}
