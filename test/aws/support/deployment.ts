// The stack's deployments: the first, once for all test files, and others with changed agents. What the stack is made of is in `installation.json` of the
// test's folder, for the files that follow.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join, resolve } from "node:path";
import { GetSecretValueCommand, PutSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import {
  connectionLimits,
  DATABASE_USERS,
  type DatabaseUserOf,
  maxConnectionsOf,
  planConnections,
} from "../../../cdk/connections.ts";
import { type Deployed, deployToEmulator } from "../../../local/aws/deploy.ts";
import type { FunctionName } from "../../../local/aws/fit-template.ts";
import { installClock } from "../../../local/testing/clock.ts";
import { withAdmin } from "../../../local/testing/database-server.ts";
import { openUrl } from "../../../shared/adapters/database/url.ts";
import { ensureUsers } from "../../../shared/adapters/database/users.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const AGENTS = ["agents/research_crew", "test/aws/agents/probe"];
/** Short, so that a worker's death is noticed soon; long enough for a busy machine. */
const LEASE_MS = 6_000;
const PASSWORD = "of-a-test";
/** Of the smallest RDS class. */
export const PLAN = planConnections(maxConnectionsOf(1), false);

/** @throws when globalSetup didn't run. */
export function fromSetup(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} isn't set: test/aws/support/setup.ts does, as jest's globalSetup`);
  return value;
}

interface State {
  readonly deployed: Deployed;
  readonly key: string;
}

const folder = (): string => fromSetup("TOREN_TEST_AWS_FOLDER");
const stateFile = (): string => join(folder(), "installation.json");
const readState = (): State => JSON.parse(readFileSync(stateFile(), "utf8")) as State;

/** What is deployed lies here; whoever changes it deploys again. */
export const agentsFolder = (): string => join(folder(), "agents");

const deploy = (bootstrapped: boolean): Promise<Deployed> => {
  const url = fromSetup("TOREN_TEST_AWS_DATABASE");
  return deployToEmulator({
    endpoint: fromSetup("AWS_ENDPOINT_URL"),
    workFolder: join(folder(), "stack"),
    agentsFolder: agentsFolder(),
    environment: (name) => ({ DATABASE_URL: urlFor(url, name), TOREN_LEASE_MS: String(LEASE_MS) }),
    say: () => {},
    bootstrapped,
  });
};

/** `cdk deploy` over what is there, with the agents as they are in the folder now. */
export async function deployAgain(): Promise<Deployed> {
  const deployed = await deploy(true);
  writeFileSync(stateFile(), JSON.stringify({ ...readState(), deployed } satisfies State));
  return deployed;
}

/** The first file that needs it deploys; the others find it. */
export async function deployOnce(): Promise<State> {
  if (existsSync(stateFile())) return readState();
  for (const path of AGENTS)
    await cp(join(ROOT, path), join(agentsFolder(), path.split("/").at(-1) ?? ""), { recursive: true });
  const url = fromSetup("TOREN_TEST_AWS_DATABASE");
  await prepare(url);
  const deployed = await deploy(false);
  const users = new Map(Object.entries(connectionLimits(PLAN)).map(([of, limit]) => [userOf(of), limit]));
  const database = await openUrl(url, { pool: 1 });
  await ensureUsers(database.pool, users, null);
  await database.close();
  const secrets = new SecretsManagerClient({});
  const keys = {
    OPENAI_API_KEY: "rules",
    OPENAI_BASE_URL: `http://127.0.0.1:${fromSetup("TOREN_TEST_AWS_MODEL_PORT")}/v1`,
  };
  await secrets.send(
    new PutSecretValueCommand({ SecretId: deployed.outputs.TorenKeysSecret, SecretString: JSON.stringify(keys) }),
  );
  const { SecretString: key = "" } = await secrets.send(
    new GetSecretValueCommand({ SecretId: deployed.outputs.TorenApiKeySecret }),
  );
  writeFileSync(stateFile(), JSON.stringify({ deployed, key } satisfies State));
  return { deployed, key };
}

const userOf = (of: string): string => DATABASE_USERS[of as DatabaseUserOf];

/** migrate is the server's superuser, as the master is on RDS. */
export function urlFor(base: string, name: FunctionName | DatabaseUserOf): string {
  const url = new URL(base);
  if (name === "migrate") return base;
  [url.username, url.password] = [userOf(name), PASSWORD];
  return url.href;
}

/**
 * RDS takes tokens; here functions have a password. What they may do is granted after the migration, as migrate does on RDS. The database's clock can be put
 * forward (`putForward`), and nobody's connection is older than it.
 */
async function prepare(url: string): Promise<void> {
  await withAdmin(url, async (client) => {
    await installClock(client, new URL(url).pathname.slice(1));
    await client.query("GRANT USAGE ON SCHEMA toren_clock TO PUBLIC");
    for (const name of Object.values(DATABASE_USERS))
      await client.query(`CREATE ROLE ${name} LOGIN PASSWORD '${PASSWORD}'`);
  });
}
