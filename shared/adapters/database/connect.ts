// Reaching a Postgres: how long to wait, what to say when it stays away, what to refuse. Used by every twin.
import pg, { type Client, type Pool } from "pg";
import { messageOf, TorenError } from "../../core/errors.ts";
import { DATABASE_PATIENCE_MS, DATABASE_RETRY_MS } from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import { checkDatabase } from "./checks.ts";
import { codeOf, isAway } from "./failures.ts";
import { connectionConfig, openPools, type PoolSizes, untilClosed } from "./pools.ts";

export interface OpenOptions extends PoolSizes {
  /** How long to wait for a database that is away: 15 s by default, 0 asks once. */
  readonly patienceMs?: number;
  /** Told now and then, in one sentence, while there is something to wait for. */
  onProgress?(text: string): void;
}

/** The connection string as it may be shown. */
export function withoutSecrets(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null) return "(not a URL)";
  if (parsed.password !== "") parsed.password = "***";
  if (parsed.searchParams.has("password")) parsed.searchParams.set("password", "***");
  return parsed.href;
}

/** The pools over a database that answers; closing twice is closing once. @throws TorenError `database.unsafe` */
export async function openChecked(url: string, options: PoolSizes): Promise<Database> {
  const { appends, pool, session } = openPools(url, options);
  const close = once(async () => {
    await untilClosed([appends.end(), pool.end()]);
  });
  try {
    await refuseUnusable(pool);
  } catch (e) {
    await close();
    throw e;
  }
  return { appends, pool, session, url, close };
}

/** Resolves when the database lets us in. @throws TorenError `database.unavailable` with what to do. */
export async function untilItAnswers(url: string, options: OpenOptions): Promise<void> {
  const protocol = URL.parse(url)?.protocol;
  if (protocol !== "postgres:" && protocol !== "postgresql:") {
    throw new TorenError(
      "database.unavailable",
      "The connection string isn't a Postgres URL: write postgres://user:password@host:5432/database.",
    );
  }
  const deadline = performance.now() + (options.patienceMs ?? DATABASE_PATIENCE_MS);
  let told = false;
  for (;;) {
    const failure = await tryOnce(url);
    if (failure === null) return;
    if (!isAway(failure) || performance.now() > deadline) throw explained(url, failure);
    if (!told) options.onProgress?.(`Waiting for the database at ${place(url)} (${reason(failure)}) …`);
    told = true;
    await new Promise((resolve) => setTimeout(resolve, DATABASE_RETRY_MS));
  }
}

async function tryOnce(url: string): Promise<unknown> {
  const client: Client = new pg.Client(connectionConfig(url));
  client.on("error", () => {});
  try {
    await client.connect();
    return null;
  } catch (e) {
    return e ?? new Error("refused without a reason");
  } finally {
    await client.end().catch(() => {});
  }
}

const place = (url: string): string => {
  const { host, pathname } = new URL(url);
  return `${host === "" ? "the local socket" : host}${pathname}`;
};
const reason = (failure: unknown): string => codeOf(failure) ?? messageOf(failure);

function explained(url: string, failure: unknown): TorenError {
  const say = (what: string, todo: string) =>
    new TorenError("database.unavailable", `${what} (${reason(failure)}: ${messageOf(failure)}). ${todo}`, {
      cause: failure,
    });
  switch (codeOf(failure)) {
    case "28P01":
    case "28000":
      return say(
        `The database at ${place(url)} refused the user or password`,
        "Check the credentials in DATABASE_URL.",
      );
    case "3D000":
      return say(`The server at ${place(url)} has no such database`, "Create it, or correct the name in DATABASE_URL.");
    case "53300":
      return say(
        `The database at ${place(url)} has no connection left`,
        "Stop other clients, or raise max_connections.",
      );
    default:
      return say(
        `The database at ${place(url)} doesn't answer`,
        "Start it, correct DATABASE_URL, or unset DATABASE_URL to use the embedded one.",
      );
  }
}

async function refuseUnusable(pool: Pool): Promise<void> {
  const bad = (await checkDatabase(pool)).find((c) => c.fatal && !c.ok);
  if (bad !== undefined)
    throw new TorenError("database.unsafe", `This database has ${bad.what} ${bad.found}. ${bad.advice}.`);
}

/** Closing twice is closing once. */
export function once(close: () => Promise<void>): () => Promise<void> {
  let closed: Promise<void> | undefined;
  return () => {
    closed ??= close();
    return closed;
  };
}
