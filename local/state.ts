// The state folder: `.toren/` of the working directory, or TOREN_HOME. What is in it: `server.json` (the server that runs here), `key` (its dev key),
// `postgres/` (the embedded database), `cache/`.
import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { messageOf, TorenError } from "../shared/core/errors.ts";
import { isKey, newKey } from "../shared/http/auth.ts";
import { UsageError } from "./client/usage-error.ts";

/** Of the server that runs in a state folder. */
export interface ServerRecord {
  /** Without a slash at its end. */
  readonly url: string;
  readonly pid: number;
  /** The model that answers for every role; null: each role's own. */
  readonly model: string | null;
  /** `dev` stays; `run` ends with its run. */
  readonly kind: "dev" | "run";
}

export const stateFolderOf = (env: NodeJS.ProcessEnv, workingFolder: string): string =>
  resolve(workingFolder, env.TOREN_HOME || ".toren");

/** Makes the folder. Others may enter it, since the embedded Postgres runs as another user under root; what is secret in it is closed by itself. */
export async function prepareState(folder: string): Promise<void> {
  await usable(folder, async () => {
    await mkdir(folder, { recursive: true, mode: 0o755 });
    await createOnce(join(folder, ".gitignore"), "*\n", 0o644);
  });
}

/** The folder's dev key, made at its first use. Of several who make it at once, one wins and all get the same. */
export async function ensureKey(folder: string): Promise<string> {
  await usable(folder, () => createOnce(join(folder, "key"), `${newKey()}\n`, 0o600));
  const key = await readKey(folder);
  if (key !== null) return key;
  throw new TorenError("auth.invalid", `${join(folder, "key")} holds no Toren key. Delete it, and a new one is made.`);
}

export async function readKey(folder: string): Promise<string | null> {
  const key = (await usable(folder, () => readText(join(folder, "key"))))?.trim() ?? "";
  return isKey(key) ? key : null;
}

export async function readServer(folder: string): Promise<ServerRecord | null> {
  const text = await usable(folder, () => readText(join(folder, "server.json")));
  if (text === null) return null;
  try {
    const record = JSON.parse(text) as Partial<ServerRecord>;
    const { url, pid, model, kind } = record;
    if (typeof url !== "string" || typeof pid !== "number") return null;
    return { url, pid, model: model ?? null, kind: kind === "dev" ? "dev" : "run" };
  } catch {
    return null;
  }
}

/** Notes the server that runs here now. False: another one is noted, which still lives by what `lives` says. */
export async function claimServer(
  folder: string,
  record: ServerRecord,
  lives: (other: ServerRecord) => Promise<boolean>,
): Promise<boolean> {
  const path = join(folder, "server.json");
  const text = `${JSON.stringify(record)}\n`;
  if (await createOnce(path, text, 0o600)) return true;
  const other = await readServer(folder);
  if (other !== null && (await lives(other))) return false;
  await replace(path, text, 0o600); // of a server that was killed
  return true;
}

/** Only its own note: another server may have taken the place meanwhile. */
export async function releaseServer(folder: string, record: ServerRecord): Promise<void> {
  const noted = await readServer(folder);
  if (noted?.pid === record.pid && noted.url === record.url) await rm(join(folder, "server.json"), { force: true });
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (e) {
    return hasCode(e, "EPERM");
  }
}

/** Node's own errors; by what they hold, since a test's realm has another `Error`. */
export const hasCode = (e: unknown, code: string): boolean => (e as { code?: unknown } | null)?.code === code;

/** What the system says of a folder of somebody else's, a full disk or a file in its place isn't a defect of ours. */
async function usable<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (e) {
    if (typeof (e as { syscall?: unknown } | null)?.syscall !== "string") throw e;
    throw new UsageError(
      `The state folder ${folder} can't be used: ${messageOf(e)}. Make it one that you may write, or point TOREN_HOME elsewhere.`,
      { cause: e },
    );
  }
}

async function readText(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (e) {
    if (hasCode(e, "ENOENT")) return null;
    throw e;
  }
}

/** Whole or not at all, and only if nobody was first. */
async function createOnce(path: string, text: string, mode: number): Promise<boolean> {
  const fresh = `${path}.${randomUUID()}`;
  await writeFile(fresh, text, { mode });
  try {
    await link(fresh, path);
    return true;
  } catch (e) {
    if (hasCode(e, "EEXIST")) return false;
    throw e;
  } finally {
    await rm(fresh, { force: true });
  }
}

async function replace(path: string, text: string, mode: number): Promise<void> {
  const fresh = `${path}.${randomUUID()}`;
  await writeFile(fresh, text, { mode });
  await rename(fresh, path);
}
