import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Pool } from "pg";
import { createDeployments } from "../../../shared/adapters/store/deployments.ts";
import { checkSchemas, migrate, numbered, SERVES } from "../../../shared/adapters/store/migrate.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());

const file = (kind: string): string =>
  readFileSync(new URL(`../../../shared/sql/schema/${kind}.sql`, import.meta.url), "utf8");

/** Everything that makes a schema what it is, its own name left out. */
async function catalogue(pool: Pool, schema: string): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `WITH t AS (SELECT c.oid, c.relname, c.reloptions FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname <> 'schema_versions')
     SELECT relname || ' with ' || coalesce(reloptions::text, '') AS line FROM t
     UNION ALL SELECT concat_ws(' ', relname, attnum, attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated, collname, pg_get_expr(adbin, adrelid))
       FROM t JOIN pg_attribute a ON a.attrelid = t.oid AND attnum > 0 AND NOT attisdropped
       LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum LEFT JOIN pg_collation l ON l.oid = a.attcollation
     UNION ALL SELECT concat_ws(' ', relname, conname, pg_get_constraintdef(c.oid)) FROM t JOIN pg_constraint c ON c.conrelid = t.oid
     UNION ALL SELECT concat_ws(' ', relname, pg_get_indexdef(indexrelid)) FROM t JOIN pg_index i ON i.indrelid = t.oid
     ORDER BY 1`,
    [schema],
  );
  return rows.map((row) => row.line.replaceAll(schema, "SCHEMA"));
}

describe("migrate", () => {
  test("concurrent callers all succeed, and once is enough", async () => {
    await Promise.all(Array.from({ length: 5 }, () => migrate(db.database, ["one", "two"])));
    await migrate(db.database, ["two", "one"]);
    await checkSchemas(db.database, ["one", "two"]);
    const { rows } = await db.database.pool.query(
      "SELECT schema, version FROM toren_control.schema_versions ORDER BY 1, 2",
    );
    expect(rows.filter((r) => r.schema === "agent_one")).toHaveLength(SERVES.agent.to);
    expect(await createDeployments(db.database).agents()).toEqual(["one", "two"]);
  });

  test("a migrated schema is equal to a fresh one: schema/agent.sql", async () => {
    await migrate(db.database, ["one"]);
    await db.database.pool.query(`CREATE SCHEMA fresh; ${file("agent").replaceAll(/(?<!:):agent\b/g, "fresh")}`);
    const fresh = await catalogue(db.database.pool, "fresh");
    expect(fresh.length).toBeGreaterThan(80);
    expect(await catalogue(db.database.pool, "agent_one")).toEqual(fresh);
  });

  test("a migrated schema is equal to a fresh one: schema/control.sql", async () => {
    await db.database.pool.query(
      `CREATE SCHEMA fresh_control; ${file("control").replaceAll("toren_control", "fresh_control")}`,
    );
    const fresh = await catalogue(db.database.pool, "fresh_control");
    expect(fresh.length).toBeGreaterThan(40);
    expect(await catalogue(db.database.pool, "toren_control")).toEqual(fresh);
  });

  test("a newer schema is refused, untouched, naming the versions that this code serves", async () => {
    await migrate(db.database, ["future"]);
    const { pool } = db.database;
    await pool.query(
      "INSERT INTO toren_control.schema_versions (schema, version, name) VALUES ('agent_future', 99, '0099_x')",
    );
    const refused = {
      code: "schema.newer",
      message: expect.stringContaining(`version 99; this code serves ${SERVES.agent.from} to ${SERVES.agent.to}`),
    };
    await expect(migrate(db.database, ["future", "beside"])).rejects.toMatchObject(refused);
    await checkSchemas(db.database, ["beside"]); // brought up all the same: a rollback may have a new agent too
    await expect(checkSchemas(db.database, ["future"])).rejects.toMatchObject(refused);
    await migrate(db.database, ["one"]); // the others aren't held up
  });

  test("a schema that lacks a migration is refused: what this code asks for isn't there yet", async () => {
    await migrate(db.database, ["behind"]);
    const { pool } = db.database;
    await pool.query("DELETE FROM toren_control.schema_versions WHERE schema = 'agent_behind' AND version = $1", [
      SERVES.agent.to,
    ]);
    const message = expect.stringContaining(`is at version ${SERVES.agent.to - 1}`);
    await expect(checkSchemas(db.database, ["behind"])).rejects.toMatchObject({ code: "schema.older", message });
  });

  test("a schema that isn't there is older than any", async () => {
    await expect(checkSchemas(db.database, ["nobody"])).rejects.toMatchObject({ code: "schema.older" });
  });

  test("a name that can't be an agent's never reaches a statement", async () => {
    for (const name of ["", "A", "x; DROP SCHEMA public", "a".repeat(42), "toren-control"])
      await expect(migrate(db.database, [name])).rejects.toMatchObject({ code: "agent.unknown" });
  });

  test("migrations are numbered from 1 without a gap", () => {
    expect(numbered({ "0001_a": "x", "0002_b": "y" }).map((m) => m.version)).toEqual([1, 2]);
    expect(() => numbered({ "0001_a": "x", "0003_b": "y" })).toThrow("0003_b should have number 2");
  });
});

describe("deployments", () => {
  test("I7: the newest hash again is the same generation, any other the next, a rollback too", async () => {
    await migrate(db.database, ["deployed"]);
    const deployments = createDeployments(db.database);
    const generations: number[] = [];
    for (const hash of ["a", "a", "b", "a"]) generations.push(await deployments.register("deployed", hash));
    expect(generations).toEqual([1, 1, 2, 3]);
    expect(await Promise.all(["a", "b", "c"].map((h) => deployments.generationOf("deployed", h)))).toEqual([
      3,
      2,
      null,
    ]);
  });

  test("I7: concurrent deployers of one hash agree", async () => {
    await migrate(db.database, ["together"]);
    const deployments = createDeployments(db.database);
    expect(await Promise.all(Array.from({ length: 8 }, () => deployments.register("together", "h")))).toEqual(
      Array(8).fill(1),
    );
  });

  test("an agent without a schema can't be registered", async () => {
    await expect(createDeployments(db.database).register("nobody", "h")).rejects.toMatchObject({
      code: "agent.not_registered",
    });
  });
});
