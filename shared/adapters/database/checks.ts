// What a Postgres must be for Toren to keep its promises. `doctor` prints all of it; opening a database refuses what could never work.
import type { Pool } from "pg";
import { POSTGRES_MAJOR_MIN } from "../../core/limits.ts";

export interface DatabaseCheck {
  readonly what: "version" | "encoding" | "fsync" | "synchronous_commit" | "full_page_writes";
  readonly found: string;
  readonly ok: boolean;
  /** True: nothing works like this. False: it works until the machine loses power. */
  readonly fatal: boolean;
  /** What to do about it; empty when it is well. */
  readonly advice: string;
}

interface Settings {
  readonly version: number;
  readonly encoding: string;
  readonly fsync: string;
  readonly synchronous_commit: string;
  readonly full_page_writes: string;
}

const SETTINGS = `SELECT current_setting('server_version_num')::int AS version,
  (SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()) AS encoding,
  current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit, current_setting('full_page_writes') AS full_page_writes`;

/** One query. Rejects as any query does when the database is away. */
export async function checkDatabase(pool: Pool): Promise<readonly DatabaseCheck[]> {
  const { rows } = await pool.query<Settings>(SETTINGS);
  const settings = rows[0];
  if (settings === undefined) throw new Error("the settings query answered nothing");
  return judge(settings);
}

/** The judgement alone. `version` as Postgres numbers it: 150018 is 15.18. */
export function judge(s: Settings): readonly DatabaseCheck[] {
  const check = (
    what: DatabaseCheck["what"],
    found: string,
    ok: boolean,
    fatal: boolean,
    advice: string,
  ): DatabaseCheck => ({
    what,
    found,
    ok,
    fatal,
    advice: ok ? "" : advice,
  });
  const lost = "a power failure would lose events that were reported as recorded. Turn it on";
  return [
    check(
      "version",
      `${Math.floor(s.version / 10_000)}.${s.version % 10_000}`,
      s.version >= POSTGRES_MAJOR_MIN * 10_000,
      true,
      `Toren needs Postgres ${POSTGRES_MAJOR_MIN} or newer. Upgrade the server, or unset DATABASE_URL to use the embedded one`,
    ),
    check(
      "encoding",
      s.encoding,
      s.encoding === "UTF8",
      true,
      "Create the database with ENCODING 'UTF8': other encodings can't hold what models write",
    ),
    check("fsync", s.fsync, s.fsync === "on", false, `fsync is off: ${lost}`),
    // `local` waits for this server's own disk, which is what a single writer needs; `off` and nothing else loses acknowledged commits here.
    check(
      "synchronous_commit",
      s.synchronous_commit,
      s.synchronous_commit !== "off",
      false,
      `synchronous_commit is off: ${lost}`,
    ),
    check(
      "full_page_writes",
      s.full_page_writes,
      s.full_page_writes === "on",
      false,
      "full_page_writes is off: a power failure may tear pages. Turn it on",
    ),
  ];
}
