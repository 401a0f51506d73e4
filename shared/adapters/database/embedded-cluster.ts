// The embedded server's data directory: made once, whole or not at all, with its password inside.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chown, mkdir, readdir, readFile, realpath, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { TorenError } from "../../core/errors.ts";
import { type Account, canReach, sharedFolder } from "./embedded-account.ts";

export const SUPERUSER = "toren";

export interface Cluster {
  /** Without symbolic links. */
  readonly directory: string;
  readonly password: string;
}

/** Reads the cluster at `directory`, or makes one there. Of several that make it at once, one wins and all use it. */
export async function ensureCluster(directory: string, binaries: string, account: Account): Promise<Cluster> {
  const existing = await readCluster(directory);
  if (existing !== null) return existing;
  await removeLeftovers(directory);
  const parent = join(directory, "..");
  await mkdir(parent, { recursive: true });
  const elsewhere = !(await canReach(parent, account));
  const made = elsewhere ? join(await sharedFolder(), `data-${name()}`) : `${directory}.new-${process.pid}-${name()}`;
  await initialise(made, binaries, account);
  try {
    // Where the server's account can't go (root's home is closed to it) the data lies elsewhere, and a link says where.
    if (elsewhere) await symlink(made, directory);
    else await rename(made, directory);
  } catch (e) {
    await rm(made, { recursive: true, force: true });
    if ((await readCluster(directory)) === null) throw e;
  }
  const cluster = await readCluster(directory);
  if (cluster === null)
    throw new TorenError(
      "database.unavailable",
      `${directory} isn't a data directory of Toren's. Move it away, and a new one is made.`,
    );
  return cluster;
}

const name = (): string => randomBytes(6).toString("hex");
export const PASSWORD_FILE = "toren-password";

async function readCluster(directory: string): Promise<Cluster | null> {
  const password = await readFile(join(directory, PASSWORD_FILE), "utf8").catch(() => null);
  return password === null ? null : { directory: await realpath(directory), password: password.trim() };
}

/** What makers left that were killed at it, and a link whose target is gone. Their names hold their process ids. */
async function removeLeftovers(directory: string): Promise<void> {
  if ((await stat(directory).catch(() => null)) === null) await rm(directory, { force: true });
  const parent = join(directory, "..");
  const entries = await readdir(parent).catch((): string[] => []);
  for (const entry of entries) {
    const pid = Number(/^postgres\.new-(\d+)-/.exec(entry)?.[1]);
    if (Number.isInteger(pid) && !isRunning(pid)) await rm(join(parent, entry), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (e) {
    return e instanceof Error && "code" in e && e.code === "EPERM";
  }
}

async function initialise(directory: string, binaries: string, account: Account): Promise<void> {
  await mkdir(directory, { mode: 0o700 });
  await chown(directory, account.uid, account.gid);
  const password = randomBytes(24).toString("base64url");
  const passwordFile = `${directory}.password`;
  await writeFile(passwordFile, password, { mode: 0o600, flag: "wx" });
  try {
    await chown(passwordFile, account.uid, account.gid);
    // It syncs what it wrote (0.02 s here): pages that no checkpoint touches later would otherwise never be made safe.
    // The built-in locale sorts alike on every machine, whatever the C library.
    await run(join(binaries, "bin", "initdb"), account, [
      `--pgdata=${directory}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C",
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
      "--no-instructions",
    ]);
  } catch (e) {
    await rm(directory, { recursive: true, force: true });
    throw e;
  } finally {
    await rm(passwordFile, { force: true });
  }
  // Last: a directory without it isn't a cluster yet. The superuser could read every file of this account, so others must not become it.
  await writeFile(join(directory, PASSWORD_FILE), password, { mode: 0o600 });
  await chown(join(directory, PASSWORD_FILE), account.uid, account.gid);
}

/** What the server's programs get to see: PGPORT and the like in the user's own environment would change what they do. */
export const SERVER_ENVIRONMENT = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

export const credentials = (account: Account): { uid?: number; gid?: number } =>
  account.switches ? { uid: account.uid, gid: account.gid } : {};

async function run(program: string, account: Account, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, {
    ...credentials(account),
    cwd: "/",
    env: SERVER_ENVIRONMENT,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => (output += String(chunk)));
  child.stderr.on("data", (chunk) => (output += String(chunk)));
  const code = await new Promise<number | string | null>((resolve) => {
    child.on("error", (e) => resolve(e.message));
    child.on("close", resolve);
  });
  if (code === 0) return;
  throw new TorenError(
    "database.unavailable",
    `initdb of the embedded Postgres failed (${code}): ${output.trim().split("\n").at(-1) ?? ""}`,
  );
}
