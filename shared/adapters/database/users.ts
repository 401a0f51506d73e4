// The database users of deployed functions: each signs in by IAM, has a limit of connections, and may do what the engine does, in every schema there is.
import type { Pool } from "pg";
import { TorenError } from "../../core/errors.ts";

/** Names are part of statements, so nothing else may be in them. */
const NAME = /^toren_[a-z_]{1,40}$/;
/** What all of them may do is granted once, to a role that they are members of. */
const GROUP = "toren_functions";

/**
 * Makes the users that aren't there, and brings their limits up to date. Idempotent; call it after every migration, for schemas that are new. `signIn`:
 * the role whose members sign in by IAM tokens; null where there is none (not RDS).
 * @throws TorenError `request.invalid` for a name or a limit that can't be one.
 */
export async function ensureUsers(
  pool: Pool,
  users: ReadonlyMap<string, number>,
  signIn: "rds_iam" | null = "rds_iam",
): Promise<void> {
  for (const [name, limit] of users)
    if (!NAME.test(name) || !Number.isInteger(limit) || limit < 1)
      throw new TorenError("request.invalid", `"${name}" with ${limit} connections can't be a user of the functions`);
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query("BEGIN");
    await client.query("SELECT pg_advisory_xact_lock(hashtext('toren migrate'))"); // one deployer at a time
    const { rows } = await client.query<{ schema: string }>(
      "SELECT nspname AS schema FROM pg_namespace WHERE nspname = 'toren_control' OR nspname ~ '^agent_[a-z][a-z0-9_]*$' ORDER BY 1",
    );
    await client.query(roles([...users], signIn) + rows.map(({ schema }) => grants(schema)).join(""));
    await client.query("COMMIT");
  } catch (e) {
    failure = e as Error;
    throw e;
  } finally {
    client.release(failure);
  }
}

function roles(users: readonly (readonly [string, number])[], signIn: string | null): string {
  const created = [GROUP, ...users.map(([name]) => name)].map(
    (name) =>
      `DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${name}') THEN CREATE ROLE ${name}; END IF; END $$;`,
  );
  const limited = users.map(
    ([name, limit]) =>
      `ALTER ROLE ${name} LOGIN CONNECTION LIMIT ${limit}; GRANT ${GROUP} TO ${name};${signIn === null ? "" : ` GRANT ${signIn} TO ${name};`}`,
  );
  return [...created, ...limited].join("\n");
}

const grants = (schema: string): string => `
GRANT USAGE ON SCHEMA ${schema} TO ${GROUP};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${GROUP};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${GROUP};`;
