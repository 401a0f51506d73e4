// Brings the schemas to this version: numbered, forward only, one transaction a schema. Old code runs on a newer schema as long as it lies within the
// versions that it can serve: migrations expand first, and contract only when no such code is left.
import type { Pool, PoolClient } from "pg";
import { TorenError } from "../../core/errors.ts";
import { MIGRATE_LOCK_TIMEOUT_MS, MIGRATE_TRIES, MIGRATE_WAIT_MS } from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import { MIGRATIONS } from "../../sql/queries.ts";
import { codeOf } from "../database/failures.ts";
import { explained, inSchema, kindOf, pause, schemaOf } from "./statements.ts";

export type SchemaKind = keyof typeof MIGRATIONS;
const CONTROL_SCHEMA = "toren_control";

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/** @throws when the numbers aren't 1, 2, 3 …: two authors took the same, or a file is missing. */
export function numbered(files: Readonly<Record<string, string>>): Migration[] {
  return Object.entries(files).map(([name, sql], i) => {
    const version = Number.parseInt(name, 10);
    if (version !== i + 1) throw new Error(`migration ${name} should have number ${i + 1}`);
    return { version, name, sql };
  });
}
const migrations: Readonly<Record<SchemaKind, readonly Migration[]>> = {
  control: numbered(MIGRATIONS.control),
  agent: numbered(MIGRATIONS.agent),
};

/**
 * The schema versions that this code can serve: from the oldest it still understands to the one it migrates to. Its statements name what the newest
 * migration added, so they are one: a worker that comes before the migration waits outside, or each of its ticks would fail.
 */
export const SERVES: Readonly<Record<SchemaKind, { readonly from: number; readonly to: number }>> = {
  control: { from: migrations.control.length, to: migrations.control.length },
  agent: { from: migrations.agent.length, to: migrations.agent.length },
};

/**
 * Migrates the control schema and those of the agents, and registers the agents. Idempotent; concurrent callers take turns.
 * @throws TorenError `schema.newer` where a schema is of a later version than this code can serve (nothing of it is changed, all others are brought up), `database.unavailable`,
 * `agent.unknown` for a name that can't be an agent's.
 */
export async function migrate(database: Pick<Database, "pool">, agents: readonly string[]): Promise<void> {
  const schemas = agents.map((agent) => ({ agent, schema: schemaOf(agent) }));
  let newer: TorenError | undefined;
  const keep = (e: unknown): void => {
    if (!(e instanceof TorenError) || e.code !== "schema.newer") throw e;
    newer ??= e;
  };
  await bring(database.pool, "control", CONTROL_SCHEMA, null).catch(keep);
  for (const { agent, schema } of schemas) await bring(database.pool, "agent", schema, agent).catch(keep);
  if (newer !== undefined) throw newer;
}

/**
 * For workers that don't migrate: whether they may serve what is there.
 * @throws TorenError `schema.newer`, `schema.older` (a schema is missing or too old: migrate), `database.unavailable`.
 */
export async function checkSchemas(database: Pick<Database, "pool">, agents: readonly string[]): Promise<void> {
  const versions = await readVersions(database.pool);
  judge("control", CONTROL_SCHEMA, versions.get(CONTROL_SCHEMA) ?? 0);
  for (const agent of agents) judge("agent", schemaOf(agent), versions.get(schemaOf(agent)) ?? 0);
}

async function readVersions(pool: Pool): Promise<Map<string, number>> {
  try {
    const { rows } = await pool.query<{ schema: string; version: number }>(
      "SELECT schema, max(version) AS version FROM toren_control.schema_versions GROUP BY schema",
    );
    return new Map(rows.map((row) => [row.schema, row.version]));
  } catch (e) {
    if (NOTHING_YET.has(codeOf(e) ?? "")) return new Map();
    throw explained(e);
  }
}

/** No such schema, no such table: nobody has migrated yet. */
const NOTHING_YET: ReadonlySet<string> = new Set(["3F000", "42P01"]);

function judge(kind: SchemaKind, schema: string, version: number): void {
  refuseNewer(kind, schema, version);
  if (version === 0)
    throw new TorenError(
      "schema.older",
      `${schema} is not set up yet: the first \`toren run\` or \`toren dev\` does it, or \`toren migrate\`.`,
    );
  const { from, to } = SERVES[kind];
  if (version < from)
    throw new TorenError(
      "schema.older",
      `The schema ${schema} is at version ${version}; this code serves ${from} to ${to}: run \`toren migrate\`.`,
    );
}

function refuseNewer(kind: SchemaKind, schema: string, version: number): void {
  const { from, to } = SERVES[kind];
  if (version > to)
    throw new TorenError(
      "schema.newer",
      `The schema ${schema} is at version ${version}; this code serves ${from} to ${to}: deploy the newer version of Toren.`,
    );
}

async function bring(pool: Pool, kind: SchemaKind, schema: string, agent: string | null): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await transaction(pool, (client) => apply(client, kind, schema, agent));
    } catch (e) {
      const kindOfFailure = kindOf(e);
      if (tries >= MIGRATE_TRIES || (kindOfFailure !== "contention" && kindOfFailure !== "lost")) throw explained(e);
      await pause(tries);
    }
  }
}

async function transaction(pool: Pool, work: (client: PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query("BEGIN");
    await work(client);
    await client.query("COMMIT");
  } catch (e) {
    failure = e as Error;
    throw e;
  } finally {
    client.release(failure); // a failed transaction's connection is closed, which rolls it back
  }
}

async function apply(client: PoolClient, kind: SchemaKind, schema: string, agent: string | null): Promise<void> {
  await client.query(
    `SET LOCAL lock_timeout = ${MIGRATE_WAIT_MS}; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0`,
  );
  await client.query("SELECT pg_advisory_xact_lock(hashtext('toren migrate'))"); // one migrator at a time, over all schemas
  await client.query(`SET LOCAL lock_timeout = ${MIGRATE_LOCK_TIMEOUT_MS}`);
  if (kind === "control") await client.query(VERSIONS_TABLE);
  const { rows } = await client.query<{ version: number }>(
    "SELECT coalesce(max(version), 0) AS version FROM toren_control.schema_versions WHERE schema = $1",
    [schema],
  );
  const version = rows[0]?.version ?? 0;
  refuseNewer(kind, schema, version);
  const missing = migrations[kind].slice(version);
  if (missing.length === 0) return;
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
  for (const migration of missing) {
    await client.query(inSchema(migration.sql, schema));
    await client.query("INSERT INTO toren_control.schema_versions (schema, version, name) VALUES ($1, $2, $3)", [
      schema,
      migration.version,
      migration.name,
    ]);
  }
  if (agent !== null)
    await client.query("INSERT INTO toren_control.agents (agent) VALUES ($1) ON CONFLICT DO NOTHING", [agent]);
}

/** Outside the numbers: it holds them. */
const VERSIONS_TABLE = `
CREATE SCHEMA IF NOT EXISTS ${CONTROL_SCHEMA};
CREATE TABLE IF NOT EXISTS ${CONTROL_SCHEMA}.schema_versions (
  schema text NOT NULL, version int NOT NULL, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (schema, version))`;
