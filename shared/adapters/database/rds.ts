// A Postgres on RDS: no password but short-lived IAM tokens, TLS with the region's certificates, a small pool. Twins on a laptop: url.ts, embedded.ts.
import { createSecureContext, type SecureContext } from "node:tls";
import type { PoolConfig } from "pg";
import { TorenError } from "../../core/errors.ts";
import {
  DATABASE_TOKEN_KEEP_MS,
  FUNCTION_APPEND_CONNECTIONS,
  FUNCTION_POOL_CONNECTIONS,
  IDLE_SESSION_TIMEOUT_MS,
} from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import { once } from "./connect.ts";
import { openPools, type PoolSizes, untilClosed } from "./pools.ts";

export interface RdsOptions extends PoolSizes {
  readonly host: string;
  readonly port: number;
  readonly name: string;
  readonly user: string;
  /** Certificates that the server's must be signed by, in PEM: the region's alone. */
  readonly ca: readonly string[];
  /** What the user signs in with: an IAM token by `createTokens`; for the master user its password. Asked for each new connection. */
  password(): Promise<string>;
}

let context: { readonly ca: readonly string[]; readonly secure: SecureContext } | undefined;
/** One a process: making one parses every certificate. */
function secureContext(ca: readonly string[]): SecureContext {
  if (context?.ca !== ca) context = { ca, secure: createSecureContext({ ca: [...ca], minVersion: "TLSv1.2" }) };
  return context.secure;
}

/** Connections are made when first used: a function pays for what it asks alone. The stack answers for the server's settings. */
export function openRds(options: RdsOptions): Database {
  const { host, port, name, user, ca, password } = options;
  const place: PoolConfig = {
    host,
    port,
    database: name,
    user,
    password,
    // A function that freezes leaves its sessions behind: the server ends them.
    options: `-c idle_session_timeout=${IDLE_SESSION_TIMEOUT_MS}`,
    ssl: { rejectUnauthorized: true, secureContext: secureContext(ca), servername: host },
  };
  const { appends, pool, session } = openPools(place, {
    appends: options.appends ?? FUNCTION_APPEND_CONNECTIONS,
    pool: options.pool ?? FUNCTION_POOL_CONNECTIONS,
  });
  return {
    appends,
    pool,
    session,
    url: `postgres://${encodeURIComponent(user)}@${host}:${port}/${name}?sslmode=verify-full`,
    close: once(() => untilClosed([appends.end(), pool.end()])),
  };
}

export interface TokenOptions {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly region: string;
}

/** IAM tokens for a database user, each used until it is two thirds through its life. Signing needs no call to AWS, but for fresh credentials. */
export function createTokens({ host, port, user, region }: TokenOptions): () => Promise<string> {
  let kept: { readonly token: Promise<string>; readonly until: number } | undefined;
  const sign = async (): Promise<string> => {
    const { Signer } = await import("@aws-sdk/rds-signer");
    return await new Signer({ hostname: host, port, username: user, region }).getAuthToken();
  };
  return async () => {
    const now = Date.now(); // tokens end by the wall clock, which goes on while a function is frozen
    if (kept === undefined || now >= kept.until) kept = { token: sign(), until: now + DATABASE_TOKEN_KEEP_MS };
    try {
      return await kept.token;
    } catch (e) {
      kept = undefined;
      throw new TorenError(
        "database.unavailable",
        "No token for the database: the function has no credentials to sign one.",
        {
          cause: e,
        },
      );
    }
  };
}

/** Of all certificates the roots of one region: their subjects name it. */
export const casOfRegion = async (all: readonly string[], region: string): Promise<string[]> => {
  const { X509Certificate } = await import("node:crypto");
  return all.filter((pem) => new X509Certificate(pem).subject.includes(`CN=Amazon RDS ${region} Root CA`));
};
