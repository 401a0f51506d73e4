// pg_dump and pg_restore as a system has them, and a server that they can dump: the tests' own, or, where that is newer than they are, one of their version.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { chown, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { withAdmin } from "../../local/testing/database-server.ts";
import { accountFor } from "../../shared/adapters/database/embedded-account.ts";
import { credentials } from "../../shared/adapters/database/embedded-cluster.ts";
import { freePort } from "../../shared/adapters/database/embedded-server.ts";

const run = promisify(execFile);
const DEBIAN = "/usr/lib/postgresql";

export interface PostgresTools {
  /** Holds `pg_dump` and `pg_restore`. */
  readonly folder: string;
  readonly major: number;
}

/** The newest that there are. Null: none. */
export function findTools(): PostgresTools | null {
  const folders = existsSync(DEBIAN) ? readdirSync(DEBIAN).map((major) => join(DEBIAN, major, "bin")) : [];
  const found = folders
    .filter((folder) => existsSync(join(folder, "pg_dump")) && existsSync(join(folder, "initdb")))
    .map((folder) => ({ folder, major: Number(folder.split("/").at(-2)) }));
  return found.sort((a, b) => b.major - a.major)[0] ?? null;
}

export interface Dumpable {
  readonly url: string;
  close(): Promise<void>;
}

/** pg_dump reads servers that aren't newer than itself. */
export async function dumpableServer(tools: PostgresTools): Promise<Dumpable> {
  const url = process.env.TOREN_TEST_SERVER;
  if (url === undefined) throw new Error("this needs jest's globalSetup (test/support/global-setup.ts)");
  const version = await withAdmin(url, (admin) =>
    admin.query<{ n: number }>("SELECT current_setting('server_version_num')::int AS n"),
  );
  if (Math.floor((version.rows[0]?.n ?? 0) / 10_000) <= tools.major) return { url, close: async () => {} };
  return await startServer(tools);
}

async function startServer({ folder }: PostgresTools): Promise<Dumpable> {
  const place = await mkdtemp(join(tmpdir(), "toren-dumpable-"));
  const data = join(place, "data");
  await mkdir(data, { mode: 0o700 });
  const account = await accountFor(data);
  for (const path of [place, data]) await chown(path, account.uid, account.gid);
  const as = { ...credentials(account), cwd: "/", env: { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" } };
  await run(
    join(folder, "initdb"),
    ["--pgdata", data, "--username=toren", "--auth=trust", "--encoding=UTF8", "--no-sync"],
    as,
  );
  const port = await freePort(null);
  const settings = { listen_addresses: "127.0.0.1", port, unix_socket_directories: "", fsync: "off" };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const child = spawn(join(folder, "postgres"), ["-D", data, ...flags], { ...as, stdio: "ignore" });
  const url = `postgres://toren@127.0.0.1:${port}/postgres`;
  await answering(url, child);
  return {
    url,
    close: async () => {
      const ended = once(child, "exit");
      child.kill("SIGINT");
      await ended;
      await rm(place, { recursive: true, force: true });
    },
  };
}

async function answering(url: string, child: ChildProcess): Promise<void> {
  for (const deadline = Date.now() + 30_000; ; ) {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => {});
    const there = await client.connect().then(
      () => true,
      () => false,
    );
    await client.end().catch(() => {});
    if (there) return;
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error("a Postgres of the tools' version didn't start");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** @throws with what the program said. */
export async function tool(
  { folder }: PostgresTools,
  name: "pg_dump" | "pg_restore",
  args: readonly string[],
): Promise<void> {
  await run(join(folder, name), args);
}
