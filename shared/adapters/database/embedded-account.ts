// Who runs the embedded server: Postgres refuses to be root, so root starts it as somebody else, who must then be able to reach its files.
import { chmod, mkdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { TorenError } from "../../core/errors.ts";

export interface Account {
  readonly uid: number;
  readonly gid: number;
  /** True when it isn't the account of this process: we are root and start the server as another. */
  readonly switches: boolean;
}

/** The account for a data directory: its owner if it exists, so that a later `apt install postgresql` doesn't change whose it is. */
export async function accountFor(dataDirectory: string): Promise<Account> {
  const uid = process.getuid?.();
  const gid = process.getgid?.();
  if (uid === undefined || gid === undefined) {
    throw new TorenError(
      "database.unavailable",
      "The embedded Postgres needs Linux or macOS here. Set DATABASE_URL to a Postgres of your own.",
    );
  }
  const existing = await stat(dataDirectory).catch(() => null);
  if (uid !== 0) {
    if (existing !== null && existing.uid !== uid) {
      const message = `${dataDirectory} belongs to another user (uid ${existing.uid}), who started Toren here before. Be that user, or point TOREN_HOME elsewhere.`;
      throw new TorenError("database.unavailable", message);
    }
    return { uid, gid, switches: false };
  }
  if (existing !== null && existing.uid !== 0) return { uid: existing.uid, gid: existing.gid, switches: true };
  return { ...chooseAccount(await readFile("/etc/passwd", "utf8")), switches: true };
}

/** `postgres` if this machine has it, else `nobody`, which every one has. No account is made: that would outlive us. */
export function chooseAccount(passwd: string): { uid: number; gid: number } {
  const entries = passwd.split("\n").map((line) => line.split(":"));
  for (const name of ["postgres", "_postgres", "nobody"]) {
    const entry = entries.find((e) => e[0] === name);
    const uid = Number(entry?.[2]);
    const gid = Number(entry?.[3]);
    if (uid > 0 && Number.isInteger(gid)) return { uid, gid };
  }
  throw new TorenError(
    "database.unavailable",
    "Postgres can't run as root, and this machine has neither a user postgres nor nobody. Add one, or set DATABASE_URL.",
  );
}

const READ = 4;
const ENTER = 1;

async function allows(path: string, account: Account, bit: number): Promise<boolean> {
  const s = await stat(path).catch(() => null);
  if (s === null) return false;
  const shift = s.uid === account.uid ? 6 : s.gid === account.gid ? 3 : 0;
  return ((s.mode >> shift) & bit) === bit;
}

/** Whether the account may read this file; folders above it aren't looked at. */
export const canRead = (path: string, account: Account): Promise<boolean> => allows(path, account, READ);

/** Whether the account may go down to this folder: a home directory closed to others (0700) on the way is what usually forbids it. */
export async function canReach(folder: string, account: Account): Promise<boolean> {
  if (!account.switches) return true;
  let path = await realpath(folder);
  for (;;) {
    if (!(await allows(path, account, ENTER))) return false;
    const above = dirname(path);
    if (above === path) return true;
    path = above;
  }
}

/** Where root keeps what the server's account must reach when the folders of root are closed to it. */
export async function sharedFolder(): Promise<string> {
  const folder = "/var/lib/toren";
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755); // whatever the umask
  return folder;
}
